// Broadcasts and their listeners.
import { type Sentence, until } from './world.ts';

export function broadcasting(sentence: Sentence): void {
  sentence('a broadcast reaches every listener of every instance once, and no other subject', async (t, world) => {
    const [one, two] = [await world.open(), await world.open()];
    const heard: string[] = [];
    const abort = new AbortController();
    await one.listen('news', (body) => heard.push(`one ${body}`), world.signal);
    await one.listen('news', (body) => heard.push(`one again ${body}`), world.signal);
    await two.listen('news', (body) => heard.push(`two ${body}`), world.signal);
    await two.listen('news', (body) => heard.push(`two, while it listens ${body}`), abort.signal);
    await two.listen('news.more', (body) => heard.push(`more ${body}`), world.signal);
    await one.broadcast('news', 1);
    await until(() => heard.length >= 4);
    abort.abort();
    await two.broadcast('news', 2);
    await two.broadcast('news.more', 3);
    await until(() => heard.length >= 8);
    t.deepEqual(heard.sort(), [
      'more 3',
      'one 1',
      'one 2',
      'one again 1',
      'one again 2',
      'two 1',
      'two 2',
      'two, while it listens 1',
    ]);
  });

  sentence('broadcasts of a sender arrive in order, and a late listener hears the later ones', async (t, world) => {
    const [one, two] = [await world.open(), await world.open()];
    const [heard, late]: [unknown[], unknown[]] = [[], []];
    await two.listen('news', (body) => heard.push(body), world.signal);
    for (let i = 0; i < 50; i += 1) await one.broadcast('news', { i });
    await until(() => heard.length === 50);
    await two.listen('news', (body) => late.push(body), world.signal);
    await one.broadcast('news', 'last');
    await until(() => late.length === 1);
    t.deepEqual(heard, [...Array.from({ length: 50 }, (_, i) => ({ i })), 'last']);
    t.deepEqual(late, ['last']);
  });
}
