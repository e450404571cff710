// A question over the page. The browser holds the focus inside it, and Escape answers no.
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { useAction } from './actions.tsx';
import { Refusal } from './failure.tsx';
import { Form } from './form.tsx';

interface DialogProps {
  title: string;
  onClose(): void;
  children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useLayoutEffect(() => {
    const dialog = element.current!;
    dialog.showModal();
    // Only closing gives the focus back, while the dialog is still in the page. Its event comes when the dialog has left.
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={element}
      tabIndex={-1}
      aria-labelledby={heading}
      onClose={({ currentTarget }) => currentTarget.isConnected && onClose()}
    >
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  );
}

/** The end of a dialog: the way out, and beside it what the dialog is for. */
export function DialogFooter({ onClose, children }: { onClose(): void; children?: ComponentChildren }) {
  return (
    <footer>
      <button type="button" onClick={onClose}>
        Close
      </button>
      {children}
    </footer>
  );
}

interface ConfirmProps extends DialogProps {
  /** What the button does: "Delete the job". */
  action: string;
  is_dangerous?: boolean;
  /** Its failure is shown in the dialog, which stays open. */
  onConfirm(): Promise<void>;
}

/** Asks before something that cannot be undone, where `children` say what it will do, or asks for what a change needs. */
export function Confirm({ action, is_dangerous = false, onConfirm, children, ...dialog }: ConfirmProps) {
  const { is_running, error, run } = useAction(async () => {
    await onConfirm();
    dialog.onClose();
  });
  return (
    <Dialog {...dialog}>
      <Form class="section" onSubmit={run}>
        {children}
        <Refusal error={error} />
        <footer>
          <button type="button" onClick={dialog.onClose}>
            Keep it as it is
          </button>
          <button type="submit" class={is_dangerous ? 'danger' : 'primary'} disabled={is_running}>
            {action}
          </button>
        </footer>
      </Form>
    </Dialog>
  );
}
