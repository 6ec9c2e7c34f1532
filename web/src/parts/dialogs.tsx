/**
 * The large dialogs, and what was changed: their code comes once the page is there, so nobody waits for a list because
 * of the forms above it.
 */
import { styled } from "../styles/later";
import { lazy } from "../ui/lazy";

export const EditTask = lazy(() => styled(import("./edit-task")).then((module) => module.EditTask), "overlay");
export const DuplicateTask = lazy(
  () => styled(import("./edit-task")).then((module) => module.DuplicateTask),
  "overlay",
);
export const NewTask = lazy(() => styled(import("./edit-task")).then((module) => module.NewTask), "overlay");
export const RunWithArgs = lazy(
  () => styled(import("./run-with-args")).then((module) => module.RunWithArgs),
  "overlay",
);
export const BulkDialog = lazy(() => styled(import("./bulk-dialog")).then((module) => module.BulkDialog), "overlay");
export const AnswerDialog = lazy(
  () => styled(import("./answer-dialog")).then((module) => module.AnswerDialog),
  "overlay",
);
export const RejectDialog = lazy(
  () => styled(import("./answer-dialog")).then((module) => module.RejectDialog),
  "overlay",
);
export const PauseDialog = lazy(() => styled(import("./pause-dialog")).then((module) => module.PauseDialog), "overlay");
export const SilenceDialog = lazy(
  () => styled(import("./silence-dialog")).then((module) => module.SilenceDialog),
  "overlay",
);
export const Changes = lazy(() => styled(import("./changes")).then((module) => module.Changes), "part");

export const DIALOGS = [
  EditTask,
  DuplicateTask,
  NewTask,
  RunWithArgs,
  BulkDialog,
  AnswerDialog,
  RejectDialog,
  PauseDialog,
  SilenceDialog,
  Changes,
];
