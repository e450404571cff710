import test from 'ava';
import { openCursors, openListCursors } from '../../../http/frame/cursors.ts';
import { ValidationError } from '../../../http/frame/errors.ts';

const cursors = openCursors(Buffer.from('a key of the service'));
const scope = { job_id: 'j1', filter: { non_2xx: true, url_contains: 'a' } };

test('a cursor returns its index, from before the first result to the last', (t) => {
  for (const index of [-1, 0, 1, 999_999]) t.is(cursors.indexOf(cursors.after(index, scope), scope), index);
  t.is(cursors.indexOf('', scope), -1);
});

test('cursors refuse one of another job, filter or key', (t) => {
  const cursor = cursors.after(41, scope);
  const refused = { instanceOf: ValidationError, message: /^query.cursor: / } as const;
  t.throws(() => cursors.indexOf(cursor, { ...scope, job_id: 'j2' }), refused);
  t.throws(() => cursors.indexOf(cursor, { ...scope, filter: { non_2xx: true } }), refused);
  t.throws(() => openCursors(Buffer.from('another')).indexOf(cursor, scope), refused);
});

test('cursors refuse any change to a cursor', (t) => {
  const cursor = cursors.after(41, scope);
  for (let at = 0; at < cursor.length; at++) {
    const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
    t.throws(() => cursors.indexOf(changed, scope), { instanceOf: ValidationError }, changed);
  }
  const others = [cursor.slice(1), `${cursor}A`, `${cursor}=`, `${cursor} `, ` ${cursor}`, 'x', '\0', '{"after":3}'];
  for (const other of others) t.throws(() => cursors.indexOf(other, scope), { instanceOf: ValidationError }, other);
});

test('a cursor reveals nothing but its index', (t) => {
  t.false(Buffer.from(cursors.after(41, scope), 'base64url').toString('latin1').includes('j1'));
  t.regex(cursors.after(41, scope), /^[\w-]{27}$/);
});

const lists = openListCursors(Buffer.from('a key of the service'));
const list = { user_id: 'alice', status: null };
const last = ['2026-01-31T09:00:00.000Z', '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11'];

test('a cursor of a list returns its values, and fits the parameter', (t) => {
  const cursor = lists.after(last, list);
  t.deepEqual(lists.valuesOf(cursor, list), last);
  t.is(lists.valuesOf('', list), null);
  t.true(cursor.length <= 200);
});

test('cursors of lists refuse one of another list or key, and any change', (t) => {
  const cursor = lists.after(last, list);
  const refused = { instanceOf: ValidationError, message: /^query.cursor: / } as const;
  t.throws(() => lists.valuesOf(cursor, { ...list, user_id: 'bob' }), refused);
  t.throws(() => lists.valuesOf(cursor, { ...list, status: 'paused' }), refused);
  t.throws(() => openListCursors(Buffer.from('another')).valuesOf(cursor, list), refused);
  for (let at = 0; at < cursor.length; at++) {
    const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
    t.throws(() => lists.valuesOf(changed, list), refused, changed);
  }
  const others = [cursor.slice(1), `${cursor}A`, `${cursor}=`, 'x', '\0', cursors.after(41, scope)];
  for (const other of others) t.throws(() => lists.valuesOf(other, list), refused, other);
});
