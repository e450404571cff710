// Answers requests before the stores are open: /healthz with 200, and everything else with 503 and the reason for the wait.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { StoreFault } from '../../events/store-faults.ts';
import { apiOf } from '../apis/all.ts';
import { answerAndClose } from '../frame/answers/replies.ts';
import { HttpError } from '../frame/errors.ts';
import type { ProbeReply } from './probes.ts';

interface Missing {
  code: StoreFault;
  reason: string;
}

export type Starting = ReturnType<typeof openStarting>;

export function openStarting() {
  let missing = NOTHING;
  let handle: RequestListener = (request, response) => void answer(request, response, missing);
  let probe: (path: string) => Promise<ProbeReply> = async () => notReady(missing);
  return {
    callback: (): RequestListener => (request, response) => handle(request, response),
    /** Sets the reason of the 503; null sets the default one. */
    waits(for_what: Missing | null): void {
      missing = for_what ?? NOTHING;
    },
    /** Answers a probe of METRICS_PORT. */
    probe: (path: string) => probe(path),
    /** Passes all further requests and probes on. */
    started(opened: { app: { callback(): RequestListener } | null; probe(path: string): Promise<ProbeReply> }): void {
      if (opened.app) handle = opened.app.callback();
      probe = opened.probe;
    },
  };
}

/** The reason that `/readyz` gives while the service opens its stores. */
export const STARTS = 'the service starts';
const NOTHING: Missing = { code: 'unavailable', reason: STARTS };

const notReady = ({ reason }: Missing): ProbeReply => ({
  status: 503,
  body: { status: 'unavailable', failed: ['start'], checks: { start: { ok: false, detail: reason } } },
});

function answer(request: IncomingMessage, response: ServerResponse, { code, reason }: Missing): Promise<void> {
  const path = (request.url ?? '/').split('?', 1)[0]!;
  if (path === '/healthz') return answerAndClose(request, response, { status: 200, body: { status: 'ok' } });
  const not_yet = new HttpError(503, code, `The service cannot answer yet: ${reason}.`);
  const body = path === '/readyz' ? notReady({ code, reason }).body : apiOf(path).errorBody(not_yet);
  return answerAndClose(request, response, { status: 503, body, headers: { 'retry-after': '5' } });
}
