import { options, type VNode } from "preact";
import { at, base } from "./base";

/** Has every link and picture that is written with a path of the dashboard lead to its place on the host. */
export function startLinks(): void {
  if (base === "") return;
  const before = options.vnode;
  options.vnode = (vnode: VNode) => {
    const props = vnode.props as { href?: unknown; src?: unknown };
    if (vnode.type === "a" && typeof props.href === "string") props.href = at(props.href);
    if (vnode.type === "img" && typeof props.src === "string") props.src = at(props.src);
    before?.(vnode);
  };
}
