// Parts of the log that are held back: what becomes of them when the documents that were read are not the live ones any more.
import test from 'ava';
import type { RecordedEvent } from '../../events/event-store.ts';
import type { Commit } from '../../projections/fence.ts';
import { heldParts } from '../../projections/held-parts.ts';
import type { Projection, Target } from '../../projections/projection.ts';
import type { Documents, Inside } from '../../readmodels/documents.ts';
import { counting } from '../support/tallies.ts';

const part = (n: number) => {
  const position = String(n).padStart(20, '0');
  return { events: [{ type: 'Counted', position } as RecordedEvent], position };
};

function opened(saves: number[]) {
  const projection: Projection = {
    ...counting(1, 1),
    gathers: {
      types: ['Counted'],
      begin() {
        let events = 0;
        return {
          add: async (more) => void (events += more.length),
          size: () => events,
          save: async () => void saves.push(events),
        };
      },
    },
  };
  const targets: Target[] = [{ projection, generation: 1, counter: 'parked' }];
  const again: string[] = [];
  const commit: Commit = async (work) => void (await work({} as Inside));
  const held = heldParts({
    documents: {} as Documents,
    beside: () => async () => {},
    targets: () => targets,
    reached: async () => ({}),
    inTurn: (work) => work(commit),
    takeAgain: async (until) => void again.push(until),
  });
  return { held, targets, projection, again };
}

const NO_URLS = () => ({ urls: [], rows: [] });

test('several parts are written once', async (t) => {
  const saves: number[] = [];
  const { held, again } = opened(saves);
  for (const n of [1, 2, 3]) t.true(await held.add(part(n), NO_URLS));
  t.deepEqual(saves, []);
  await held.write();
  await held.write();
  t.deepEqual(saves, [3]);
  t.deepEqual(again, []);
});

test('parts that were counted on a generation that is replaced meanwhile are taken again', async (t) => {
  const saves: number[] = [];
  const { held, targets, projection, again } = opened(saves);
  for (const n of [1, 2]) await held.add(part(n), NO_URLS);
  targets[0] = { projection, generation: 2, counter: 'parked' };
  t.true(await held.add(part(3), NO_URLS));
  t.deepEqual(again, [part(2).position]);
  await held.write();
  t.deepEqual(saves, [1]);
});

test('a part with an event that cannot be held comes after what is held', async (t) => {
  const saves: number[] = [];
  const { held } = opened(saves);
  await held.add(part(1), NO_URLS);
  t.false(await held.add({ ...part(2), events: [{ type: 'Other' } as RecordedEvent] }, NO_URLS));
  t.deepEqual(saves, [1]);
});
