/** Says that a form began with what was typed before, such as before a reload. */
export function DraftNote({ onDrop }: { onDrop: () => void }) {
  return (
    <p class="draft-note" role="status">
      This is what you had entered before.{" "}
      <button type="button" class="link-button" onClick={onDrop}>
        Start over
      </button>
    </p>
  );
}
