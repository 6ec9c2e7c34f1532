import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Plugin } from "vite";

/** What browsers load and what is text; fonts and images are compressed as they are. */
const TEXT = /\.(js|css|html|svg)$/;
/** Below this many bytes the headers weigh more than what is won. */
const WORTH_IT = 1024;
/** Brotli is kept where it spares this many bytes beside gzip; for most files of a page it would not. */
const WORTH_A_SECOND_FORM = 1024;
/**
 * From this many bytes on a file is kept as gzip only: that is the explorer's editor, which few open. A second form of
 * it would be an eighth of the wheel, to spare 50 kB on the wire (docs/decisions/0018-explorer.md).
 */
const LARGE = 165_000;

async function asBrotli(content: Buffer): Promise<Buffer> {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  return await promisify(brotliCompress)(content, { params });
}

/**
 * Makes the smaller forms of a file; of one that a page loads by its hash nothing else is kept: the server unpacks it
 * for the few who take neither.
 */
async function compressFile(path: string): Promise<void> {
  const content = await readFile(path);
  if (content.length < WORTH_IT) return;
  const zipped = await promisify(gzip)(content, { level: constants.Z_BEST_COMPRESSION });
  await writeFile(`${path}.gz`, zipped);
  if (content.length < LARGE) {
    const brotli = await asBrotli(content);
    if (zipped.length - brotli.length >= WORTH_A_SECOND_FORM) await writeFile(`${path}.br`, brotli);
  }
  if (basename(dirname(path)) === "assets") await rm(path);
}

/**
 * Makes a gzip version of every text file of the build, and a brotli version where that spares something, so that the
 * server compresses nothing.
 */
export function compressed(): Plugin {
  return {
    name: "compressed",
    // A build with `--mode development` is for looking at it here: there compression only costs time.
    apply: (_, { command, mode }) => command === "build" && mode === "production",
    async writeBundle({ dir }) {
      if (dir === undefined) return;
      const entries = await readdir(dir, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile() && TEXT.test(entry.name));
      await Promise.all(files.map((entry) => compressFile(join(entry.parentPath, entry.name))));
    },
  };
}
