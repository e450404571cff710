// The memory of a host's pages: it finds pages that many URLs share beside distinct ones.
import test from 'ava';
import { fingerprint, PageMemory } from '../../../checkers/engine/fingerprints.ts';
import { readSigns } from '../../../checkers/engine/html.ts';
import { html } from '../../support/test-site.ts';

const printOf = (page: string) => fingerprint(readSigns(page), page.length);
const LOST = printOf(html('Toonville', 'Well, this is awkward'));
const real = (n: number) => printOf(html(`Character ${n}`, `Number ${n}`, 'Words. '.repeat(20 + n)));

function remember(memory: PageMemory, prints: readonly number[], group = 'job', host = 'toons.example'): boolean[] {
  return prints.map((print) => memory.record(group, host, print));
}

test('a page is reported as shared at its third URL, once three other URLs had distinct pages', (t) => {
  const memory = new PageMemory();
  t.deepEqual(remember(memory, [real(1), real(2), real(3)]), [false, false, false]);
  t.deepEqual(remember(memory, [LOST, LOST, LOST, LOST]), [false, false, true, true]);
});

test('a site that serves one page for everything has no shared page', (t) => {
  const memory = new PageMemory();
  t.false(remember(memory, Array(1000).fill(LOST)).includes(true));
});

test('distinct pages are never reported, however many', (t) => {
  const memory = new PageMemory();
  const told = remember(
    memory,
    Array.from({ length: 10_000 }, (_, n) => real(n)),
  ).filter(Boolean);
  t.is(told.length, 0);
});

test('a shared page is reported among very many others', (t) => {
  const memory = new PageMemory();
  const prints = Array.from({ length: 2_000 }, (_, n) => (n % 10 === 9 ? LOST : real(n)));
  const told = remember(memory, prints).filter(Boolean).length;
  t.true(told > 150, `${told} of 200`);
});

test('each job and host has its own fingerprints', (t) => {
  const memory = new PageMemory();
  remember(memory, [real(1), real(2), real(3), LOST, LOST]);
  t.false(memory.record('another job', 'toons.example', LOST));
  t.false(memory.record('job', 'another.example', LOST));
  t.true(memory.record('job', 'toons.example', LOST));
});

test("a small change further down keeps a page's fingerprint, and no other page has it", (t) => {
  const page = (token: string) => html('Toonville', 'Well, this is awkward', `${'Words. '.repeat(40)}${token}`);
  t.is(printOf(page('/characters/moss')), printOf(page('/characters/burr')));
  t.not(printOf(html('A', 'B')), printOf(html('A', 'C')));
  t.not(printOf(html('A', 'B')), printOf(html('C', 'B')));
  t.not(printOf(html('A', 'B')), printOf(html('A', 'B', 'Short.')));
});
