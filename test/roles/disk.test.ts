// The hours that a disk has left, over a disk of the test's own and a clock that the test moves.
import test from 'ava';
import { watchDisk } from '../../roles/disk.ts';

const HOUR_MS = 3_600_000;

function world() {
  const disk = { free_bytes: 1000, size_bytes: 2000 };
  let ms = 0;
  const look = watchDisk(
    async () => ({ ...disk }),
    () => ms,
  );
  return {
    /** Goes on for so many hours, in which each takes as many bytes. */
    async pass(hours: number, bytes_an_hour: number) {
      for (let minutes = 0; minutes < hours * 60; minutes++) {
        ms += HOUR_MS / 60;
        disk.free_bytes -= bytes_an_hour / 60;
        await look();
      }
      return (await look())!.hours_left!;
    },
  };
}

test('a disk that loses room has the hours that its room lasts at the rate of the last six', async (t) => {
  const { pass } = world();
  t.true(Math.abs((await pass(1, 100)) - 9) < 0.01);
  t.true(Math.abs((await pass(1, 100)) - 8) < 0.01);
  // An hour after seven without loss: what was before six hours counts no more.
  await pass(6, 0);
  t.true(Math.abs((await pass(1, 60)) - 740 / 10) < 2);
});

test('a disk that loses nothing, or is not known for half an hour, has no such hours', async (t) => {
  t.is(await world().pass(0.4, 500), null as never);
  t.is(await world().pass(3, 0), null as never);
  t.is(await world().pass(3, -10), null as never);
  t.is(await watchDisk(async () => null)(), null);
});
