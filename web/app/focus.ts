// The focus stays where the reader was: when the element that has it leaves the page, what stood around it takes it.
import { useEffect } from 'preact/hooks';

/** What takes the focus without being a control: a table, a dialog, the page. */
const PLACES = 'section[tabindex], dialog[open], main';

/** Without this a deleted row, or a row that scrolls out of view, leaves the next Tab at the top of the document. */
export function useKeptFocus(): void {
  useEffect(() => {
    let path: readonly Element[] = [];
    const remember = ({ target }: FocusEvent) => {
      path = [];
      for (let at = target as Element | null; at; at = at.parentElement) path = [...path, at];
    };
    const changed = new MutationObserver(() => {
      if (path.length === 0 || path[0]!.isConnected || document.activeElement !== document.body) return;
      const place = path.find((element) => element.isConnected && element.matches(PLACES));
      path = [];
      (place instanceof HTMLElement ? place : document.getElementById('page'))?.focus({ preventScroll: true });
    });
    addEventListener('focusin', remember);
    changed.observe(document.body, { childList: true, subtree: true });
    return () => {
      removeEventListener('focusin', remember);
      changed.disconnect();
    };
  }, []);
}
