// Bounds heavy requests: those in flight of each caller, and those of all callers that run at once. Callers take turns.
// Decision 130 says why.
import { type HttpError, retryLater } from '../errors.ts';
import type { Caller } from '../route.ts';
import { AddressShares, type Holder, holdersOf } from './address-shares.ts';

export interface HeavyRequest {
  /** Resolves at this request's turn: whether it waited. Throws the signal's reason when the client leaves first, 503 after 30 s without a turn. */
  work(signal: AbortSignal): Promise<boolean>;
  /** Passes the turn to another request, because this one only waits, or sends at its client's pace. */
  rest(): void;
  /** Ends the request. */
  leave(): void;
}

export type HeavyRequests = ReturnType<typeof openHeavyRequests>;

const RETRY_S = 1;
/** How long a request waits for its turn: clients and proxies give up after a minute. */
const WAIT_MS = 30_000;

interface Waiting {
  begin(): void;
}

export function openHeavyRequests(options: { per_caller: number; at_once: number; wait_ms?: number }) {
  const { per_caller, at_once, wait_ms = WAIT_MS } = options;
  const in_flight = new AddressShares({ all: Number.POSITIVE_INFINITY, of_an_address: per_caller });
  /** The queue of each caller, in the order of turns: a caller whose turn has passed goes to the end. */
  const waiting = new Map<string, Waiting[]>();
  /** The callers of the requests that work, once for each. */
  const working: string[] = [];
  /** Requests that work for minutes leave turns for other callers. */
  const most_of_one = Math.ceil(at_once / 2);
  const mayWork = ([name]: [string, Waiting[]]) => working.filter((one) => one === name).length < most_of_one;

  function next(): void {
    while (working.length < at_once) {
      const first = waiting.entries().find(mayWork);
      if (!first) return;
      const [name, queue] = first;
      const request = queue.shift()!;
      waiting.delete(name);
      if (queue.length > 0) waiting.set(name, queue);
      working.push(name);
      request.begin();
    }
  }
  return {
    /** Throws 429 when the caller has `per_caller` heavy requests in flight. */
    enter(of: { caller: Caller | null; ip: string }): HeavyRequest {
      const holders = callerOf(of);
      const [[name]] = holders;
      if (!in_flight.hasRoom(holders, 1)) throw tooManyAtOnce(per_caller);
      in_flight.add(holders, 1);
      let is_working = false;
      let has_left = false;

      function rest(): void {
        if (!is_working) return;
        is_working = false;
        working.splice(working.indexOf(name), 1);
        next();
      }
      return {
        async work(signal) {
          signal.throwIfAborted();
          const turn = Promise.withResolvers<void>();
          const request: Waiting = {
            begin() {
              is_working = true;
              turn.resolve();
            },
          };
          const giveUp = (reason: unknown) => {
            const queue = waiting.get(name)?.filter((one) => one !== request);
            if (queue?.length === 0) waiting.delete(name);
            else if (queue) waiting.set(name, queue);
            turn.reject(reason);
          };
          const leaves = () => giveUp(signal.reason);
          signal.addEventListener('abort', leaves, { once: true });
          waiting.set(name, [...(waiting.get(name) ?? []), request]);
          next();
          if (is_working) {
            signal.removeEventListener('abort', leaves);
            return false;
          }
          const timer = setTimeout(() => giveUp(noTurn()), wait_ms);
          await turn.promise.finally(() => {
            clearTimeout(timer);
            signal.removeEventListener('abort', leaves);
          });
          return true;
        },
        rest,
        leave() {
          if (has_left) return;
          has_left = true;
          rest();
          in_flight.add(holders, -1);
        },
      };
    },
  };
}

/** All keys of a user count as one caller; somebody else counts for the address, and takes turns with the site that it is of. */
function callerOf({ caller, ip }: { caller: Caller | null; ip: string }): readonly [Holder, ...Holder[]] {
  return caller ? [[`user ${caller.user_id}`, 1]] : holdersOf(ip);
}

export function tooManyAtOnce(per_caller: number): HttpError {
  const message = `You have ${per_caller} large requests in flight. Send this one again after the answer to one of them.`;
  return retryLater(429, 'too_many_requests_at_once', message, RETRY_S);
}

function noTurn(): HttpError {
  return retryLater(503, 'unavailable', 'The service is busy with other large requests. Try again in a few seconds.');
}
