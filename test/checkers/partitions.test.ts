// The division of hosts among checkers.
import test from 'ava';
import { assignPartitions, PARTITIONS, partitionOf } from '../../checkers/partitions.ts';

const idsOf = (count: number) => Array.from({ length: count }, (_, n) => `checker-${n}`);

test('all checkers get as many partitions, or one less', (t) => {
  for (const count of [1, 2, 3, 8, 14, 100]) {
    const holders = assignPartitions(idsOf(count));
    t.is(holders.length, PARTITIONS);
    const counts = Object.values(Object.groupBy(holders, (id) => id)).map((held) => held!.length);
    t.is(Math.max(...counts), Math.ceil(PARTITIONS / count), `${count} checkers`);
  }
});

test('who knows the same checkers, in whatever order, divides the hosts in the same way', (t) => {
  t.deepEqual(assignPartitions(idsOf(7)), assignPartitions(idsOf(7).reverse()));
});

test('a checker that joins or leaves moves little more than its own share', (t) => {
  for (const count of [2, 8, 14]) {
    const [before, after] = [assignPartitions(idsOf(count - 1)), assignPartitions(idsOf(count))];
    const moved = before.filter((id, partition) => id !== after[partition]).length;
    t.true(moved < (1.6 * PARTITIONS) / count, `${moved} of ${PARTITIONS} among ${count}`);
  }
});

test('hosts spread evenly, and www is asked with the name it stands before', (t) => {
  const holders = assignPartitions(idsOf(8));
  const hosts = Array.from({ length: 8000 }, (_, n) => `h${n}.example`);
  const counts = Object.values(Object.groupBy(hosts, (host) => holders[partitionOf(host)]!)).map(
    (some) => some!.length,
  );
  t.true(Math.max(...counts) < 1150 && Math.min(...counts) > 850, `${counts}`);
  t.true(hosts.every((host) => partitionOf(host) === partitionOf(`www.${host}`)));
});
