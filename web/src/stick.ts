import { useCallback, useEffect, useRef, useState } from "react";

/** How far from the end still counts as being at the end, in CSS pixels. */
const SLACK_PX = 32;

/**
 * Follows growing content as long as the reader is at its end. Scrolling up lets go at once, so that text that keeps coming never pulls
 * the reader back; scrolling to the end takes hold again.
 */
export function useStickToBottom() {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  const [atBottom, setAtBottom] = useState(true);

  const hold = useCallback((held: boolean) => {
    stuck.current = held;
    setAtBottom(held);
  }, []);

  const toBottom = useCallback(() => {
    hold(true);
    const view = scroller.current;
    view?.scrollTo({ top: view.scrollHeight });
  }, [hold]);

  useEffect(() => {
    const view = scroller.current;
    const inner = content.current;
    if (!view || !inner) return;
    let lastTop = view.scrollTop;
    const onScroll = () => {
      const rest = view.scrollHeight - view.clientHeight - view.scrollTop;
      if (rest <= SLACK_PX) hold(true);
      else if (view.scrollTop < lastTop) hold(false);
      lastTop = view.scrollTop;
    };
    const follow = new ResizeObserver(() => {
      if (stuck.current) view.scrollTop = view.scrollHeight;
    });
    view.addEventListener("scroll", onScroll, { passive: true });
    follow.observe(inner);
    follow.observe(view);
    return () => {
      view.removeEventListener("scroll", onScroll);
      follow.disconnect();
    };
  }, [hold]);

  return { scroller, content, atBottom, toBottom };
}
