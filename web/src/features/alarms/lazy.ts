/** The pages of alarms, and the alarms of one thing: one file has the code of them all, and comes after the page. */
import { styled } from "../../styles/later";
import { lazy } from "../../ui/lazy";

const load = () => styled(import("./page"));

export const Alarms = lazy(() => load().then((module) => module.Alarms));
export const AllDeliveries = lazy(() => load().then((module) => module.AllDeliveries));
export const AlarmsOf = lazy(() => load().then((module) => module.AlarmsOf), "part");
