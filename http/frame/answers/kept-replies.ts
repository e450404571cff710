// Replies about a job, made once for each of its states: whatever changes what the read models have of a job moves the position in the
// job's document. Statistics are summed up from up to 110 kB, and a page of results from fifty documents. Decision 131 says why.
import { LRUCache } from 'lru-cache';
import type { Position } from '../../../events/event-store.ts';
import type { JobDocument } from '../../../readmodels/jobs/jobs.ts';
import type { Reply } from '../route.ts';
import { isStreamed } from './json-pieces.ts';
import { JsonText } from './json-text.ts';

const MOST_BYTES = 16 * 1024 * 1024;
const MOST_BYTES_OF_ONE = 512 * 1024;
/** Of the key, the headers and the entry itself, about. */
const BYTES_BESIDE = 500;

export type KeptReplies = ReturnType<typeof openKeptReplies>;

interface State {
  /** How many times rebuilt read models took the place of earlier ones, which may have said something else. */
  readonly flips: number;
  /** What all read models have of the log. */
  position(): Promise<Position>;
}

export function openKeptReplies(readmodels: State) {
  const kept = new LRUCache<string, { state: string; reply: Reply; size_bytes: number }>({
    maxSize: MOST_BYTES,
    maxEntrySize: MOST_BYTES_OF_ONE,
    sizeCalculation: ({ size_bytes }) => size_bytes,
  });
  const being_made = new Map<string, Promise<Reply>>();

  async function made(key: string, state: string, make: () => Promise<Reply>): Promise<Reply> {
    const reply = textOf(await make());
    const { body } = reply;
    if (body instanceof JsonText) kept.set(key, { state, reply, size_bytes: body.bytes.length + BYTES_BESIDE });
    else if (typeof body === 'string') kept.set(key, { state, reply, size_bytes: body.length * 2 + BYTES_BESIDE });
    return reply;
  }
  async function at(position: Position, key: string, make: () => Promise<Reply>): Promise<Reply> {
    const state = `${position} ${readmodels.flips}`;
    const there = kept.get(key);
    if (there?.state === state) return there.reply;
    const making = `${state} ${key}`;
    const others = being_made.get(making);
    if (others) {
      const same = await others;
      return isWhole(same) ? same : await make();
    }
    const reply = made(key, state, make).finally(() => being_made.delete(making));
    being_made.set(making, reply);
    return await reply;
  }
  return {
    /**
     * Returns the reply of this name at the job's position, which `make` makes where it is not kept. Requests that come meanwhile wait for it, so
     * it must not end with the client of one of them. What is streamed is made for each request.
     */
    of: ({ _id, position }: Pick<JobDocument, '_id' | 'position'>, name: string, make: () => Promise<Reply>) =>
      at(position, `${_id} ${name}`, make),
    /** The same for what several jobs say, at the position of all read models: it moves with each event of the log. */
    async ofJobs(name: string, make: () => Promise<Reply>): Promise<Reply> {
      // The position is read first: what is made may only be newer. Where there is none, `make` waits for documents that are about to be whole.
      const position = await readmodels.position().catch(() => null);
      return position === null ? await make() : await at(position, name, make);
    },
  };
}

const isWhole = ({ body }: Reply): boolean =>
  typeof body !== 'object' || body === null || !Object.values(body).some(isStreamed);

/** With its JSON as text. */
function textOf(reply: Reply): Reply {
  const { body } = reply;
  const is_object = typeof body === 'object' && body !== null && !(body instanceof Uint8Array);
  if (!is_object || body instanceof JsonText || !isWhole(reply)) return reply;
  return { ...reply, body: new JsonText(JSON.stringify(body)) };
}
