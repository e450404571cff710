// What every adapter of stored files promises. An adapter's test enrols it with one line and a fixture.
import { readFile } from 'node:fs/promises';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import type { BlobEntry, BlobLink, Blobs } from '../../commands/blobs.ts';

export interface BlobsFixture {
  /** Opens another instance over the same data. The links of all instances are served. */
  open(): Promise<Blobs>;
  /** The names of all stored files, finished or not. The suite only counts them. */
  stored(): Promise<string[]>;
  remove(): Promise<void>;
}

export function blobsContract(name: string, start: () => Promise<BlobsFixture>): void {
  const it = (title: string, run: (t: ExecutionContext, fixture: BlobsFixture, blobs: Blobs) => Promise<void>) =>
    test(`${name}: ${title}`, async (t) => {
      const fixture = await start();
      t.teardown(() => fixture.remove());
      await run(t, fixture, await fixture.open());
    });

  const read = async (blobs: Blobs, key: string): Promise<Buffer | null> => {
    const content = await blobs.get(key);
    return content && buffer(content);
  };
  const linkUntil = (lasts_ms: number): BlobLink => {
    const expires_at = new Date(Date.now() + lasts_ms).toISOString();
    return { expires_at, file_name: 'Ü " %.html', content_type: 'text/html' };
  };
  const byKey = (a: BlobEntry, b: BlobEntry) => (a.key < b.key ? -1 : 1);
  const bytes = (length: number, seed = 1) => Buffer.from(Array.from({ length }, (_, i) => (i * seed + seed) % 256));

  it('a blob reads back byte for byte, also from another instance', async (t, fixture, blobs) => {
    const content = bytes(300_000, 7);
    const chunks = Array.from({ length: 3 }, (_, i) => content.subarray(i * 100_000, (i + 1) * 100_000));
    t.deepEqual(await blobs.put('inputs/a-1/File_2.csv', Readable.from(chunks)), { size_bytes: 300_000 });
    t.true((await read(blobs, 'inputs/a-1/File_2.csv'))?.equals(content));
    t.true((await read(await fixture.open(), 'inputs/a-1/File_2.csv'))?.equals(content));
  });

  it('a blob may be empty', async (t, _fixture, blobs) => {
    t.deepEqual(await blobs.put('empty', Readable.from([])), { size_bytes: 0 });
    t.is((await read(blobs, 'empty'))?.length, 0);
  });

  it('is a file of this machine on demand, and null where there is none', async (t, _fixture, blobs) => {
    await blobs.put('a/b', Readable.from([bytes(1000)]));
    const file = await blobs.file('a/b');
    t.true((await readFile(file!.path)).equals(bytes(1000)));
    await file!.release();
    t.is((await read(blobs, 'a/b'))?.length, 1000, 'the release of the file leaves the blob');
    for (const key of ['b', 'a', 'a/b/c']) t.is(await blobs.file(key), null, key);
  });

  it('a read of an absent blob gives null', async (t, _fixture, blobs) => {
    await blobs.put('a/b', Readable.from([bytes(1)]));
    for (const key of ['b', 'a', 'a/c', 'a/b/c', 'c/d/e']) t.is(await blobs.get(key), null, key);
  });

  it('a second put replaces the first as a whole', async (t, _fixture, blobs) => {
    await blobs.put('a', Readable.from([bytes(200_000, 3)]));
    const reading = await blobs.get('a');
    await blobs.put('a', Readable.from([bytes(10, 5)]));
    t.true((await buffer(reading!)).equals(bytes(200_000, 3)), 'who reads the first reads it to its end');
    t.true((await read(blobs, 'a'))?.equals(bytes(10, 5)));
  });

  it('one of several concurrent puts wins, unmixed', async (t, _fixture, blobs) => {
    await Promise.all([1, 3, 5, 7].map((seed) => blobs.put('a', Readable.from([bytes(50_000, seed)]))));
    const won = await read(blobs, 'a');
    t.true([1, 3, 5, 7].some((seed) => won?.equals(bytes(50_000, seed))));
  });

  it('a stream that breaks stores nothing, and keeps the blob from before', async (t, fixture, blobs) => {
    const breaking = () =>
      Readable.from(
        (async function* () {
          yield bytes(100_000);
          throw new Error('the client went away');
        })(),
      );
    await t.throwsAsync(blobs.put('new', breaking()), { message: 'the client went away' });
    t.is(await blobs.get('new'), null);
    t.deepEqual(await fixture.stored(), []);
    await blobs.put('old', Readable.from([bytes(5)]));
    await t.throwsAsync(blobs.put('old', breaking()), { message: 'the client went away' });
    t.true((await read(blobs, 'old'))?.equals(bytes(5)));
    t.is((await fixture.stored()).length, 1);
    const destroyed = Readable.from([bytes(5)]);
    destroyed.destroy();
    await t.throwsAsync(blobs.put('new', destroyed));
    t.is(await blobs.get('new'), null);
  });

  it('delete removes one blob, and accepts an absent one', async (t, fixture, blobs) => {
    await blobs.put('a/b', Readable.from([bytes(1)]));
    await blobs.put('a/c', Readable.from([bytes(2)]));
    await blobs.delete('a/b');
    await blobs.delete('a/b');
    await blobs.delete('a');
    await blobs.delete('x/y');
    t.is(await blobs.get('a/b'), null);
    t.is((await read(blobs, 'a/c'))?.length, 2);
    t.is((await fixture.stored()).length, 1);
  });

  it('a key that leads out of the store is refused', async (t, fixture, blobs) => {
    const keys = [
      '',
      '/',
      '/a',
      'a/',
      'a//b',
      '.',
      '..',
      '../a',
      'a/../../b',
      'a/./b',
      'a b',
      'a\\b',
      'a\0b',
      'é',
      '~a',
    ];
    for (const key of [...keys, 'a'.repeat(201), `${'a/'.repeat(600)}a`, '%2e%2e/a', 'a\n']) {
      const expected = { code: 'invalid_key' };
      await t.throwsAsync(blobs.put(key, Readable.from([bytes(1)])), expected, key);
      await t.throwsAsync(blobs.get(key), expected, key);
      await t.throwsAsync(blobs.delete(key), expected, key);
      await t.throwsAsync(blobs.file(key), expected, key);
      await t.throwsAsync(blobs.link(key, linkUntil(60_000)), expected, key);
    }
    for (const prefix of ['/', '/a', 'a//', '../', 'a/../', './', '.', 'a/..', 'a b', '~', 'é', 'a'.repeat(201)]) {
      await t.throwsAsync(Array.fromAsync(blobs.list(prefix)), { code: 'invalid_key' }, prefix);
    }
    t.deepEqual(await fixture.stored(), []);
  });

  it('keys that only look like such paths are ordinary keys', async (t, _fixture, blobs) => {
    for (const key of ['...', '..a', 'a..', '-rf', '.hidden', 'a/.../b']) {
      await blobs.put(key, Readable.from([Buffer.from(key)]));
      t.is((await read(blobs, key))?.toString(), key);
    }
  });

  it('a list has each blob whose key begins with the prefix, with its size', async (t, _fixture, blobs) => {
    t.deepEqual(await Array.fromAsync(blobs.list('')), []);
    const keys = ['a', 'a-b', 'a.b/c', 'ab/c', 'ab/cd/e', 'ab/d', 'b/a', '.hidden', 'ab/..c'];
    for (const [n, key] of keys.entries()) await blobs.put(key, Readable.from(n === 0 ? [] : [bytes(n)]));
    const unfinished = new PassThrough();
    const putting = blobs.put('ab/unfinished', unfinished);
    unfinished.write(bytes(100_000));
    const sizes = Object.fromEntries(keys.map((key, n) => [key, n]));
    for (const prefix of [
      '',
      'a',
      'ab',
      'ab/',
      'ab/c',
      'ab/cd/',
      'ab/cd/e',
      'ab/cd/e/',
      'a.b',
      '.h',
      'ab/..c',
      'c',
      'c/d/',
    ]) {
      const listed = await Array.fromAsync(blobs.list(prefix));
      const expected = keys.filter((key) => key.startsWith(prefix)).map((key) => ({ key, size_bytes: sizes[key]! }));
      t.deepEqual(listed.sort(byKey), expected.sort(byKey), prefix);
    }
    for await (const { key } of blobs.list('ab/')) await blobs.delete(key);
    t.deepEqual(await Array.fromAsync(blobs.list('ab')), [], 'a reader may delete what it is given');
    unfinished.destroy();
    await t.throwsAsync(putting);
  });

  it('a link gives the file with its name to anybody, until it expires', async (t, _fixture, blobs) => {
    const content = Buffer.from('<script>alert(1)</script>');
    await blobs.put('a/b', Readable.from([content]));
    const got = await fetch(await blobs.link('a/b', linkUntil(60_000)));
    t.deepEqual([got.status, got.headers.get('content-type')], [200, 'text/html']);
    t.is(
      got.headers.get('content-disposition'),
      `attachment; filename="_ _ _.html"; filename*=UTF-8''%C3%9C%20%22%20%25.html`,
    );
    t.true(Buffer.from(await got.arrayBuffer()).equals(content));
    const expired = await fetch(await blobs.link('a/b', linkUntil(-1000)));
    t.true([403, 410].includes(expired.status));
    t.false((await expired.text()).includes('script'));
    t.is((await fetch(await blobs.link('a/c', linkUntil(60_000)))).status, 404);
  });

  it('a changed link gives nothing', async (t, _fixture, blobs) => {
    for (const key of ['mine', 'other']) await blobs.put(key, Readable.from(['content']));
    const link = await blobs.link('mine', linkUntil(60_000));
    t.is((await fetch(link)).status, 200);
    for (const [from, to] of [
      ['mine', 'other'],
      ['html', 'htm'],
      ['ignature=', 'ignature=0'],
      ['xpires=', 'xpires=1'],
    ] as const) {
      const changed = await fetch(link.replaceAll(from, to));
      t.true([400, 403].includes(changed.status), `${from}: ${changed.status}`);
      t.false((await changed.text()).includes('content'), from);
    }
  });
}
