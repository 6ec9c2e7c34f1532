import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Plugin } from "vite";

/** What is text; fonts and images are compressed as they are. */
const TEXT = /\.(js|css|html|svg|json|ttf)$/;
/** Below this many bytes the headers weigh more than what is won. */
const WORTH_IT = 1024;

/** Makes both forms of a file; of one that a page loads by its hash nothing else is kept: the server unpacks it for the few who take neither. */
async function compressFile(path: string): Promise<void> {
  const content = await readFile(path);
  if (content.length < WORTH_IT) return;
  const brotli = await promisify(brotliCompress)(content, {
    params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
  });
  await writeFile(`${path}.br`, brotli);
  await writeFile(`${path}.gz`, await promisify(gzip)(content, { level: constants.Z_BEST_COMPRESSION }));
  if (basename(dirname(path)) === "assets") await rm(path);
}

/** Makes a brotli and a gzip version of every text file of the build, so that the server compresses nothing. */
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
