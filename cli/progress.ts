// Shows how far a work is: a bar on a terminal, a line every few seconds elsewhere.
import { styleText } from 'node:util';

export interface Progress {
  total: number;
  done: number;
}

/** What is counted: beside a rate, and in a line. */
export interface Unit {
  rate: string;
  done: string;
}
const URLS: Unit = { rate: 'URL', done: 'URLs checked' };

const DRAW_MS = 150;
const LINE_MS = 5000;
const WIDEST_BAR = 30;
const NARROWEST_BAR = 8;
const SPARE_COLUMNS = 3;
const USUAL_COLUMNS = 80;
/** The rate is that of the last few seconds. */
const RATE_WINDOW_MS = 5000;

export type Out = NodeJS.WritableStream & Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>>;

/** Shows what `look` returns until it is stopped. A bar disappears then. */
export function showProgress(look: () => Progress, out: Out = process.stderr, unit = URLS): { stop(): void } {
  const has_bar = out.isTTY === true && process.env.TERM !== 'dumb';
  const rate = rateOf(look().done);
  let drawn = false;
  const draw = () => {
    const seen = look();
    const per_second = rate(seen.done);
    drawn = has_bar;
    if (has_bar) out.write(`\r\x1b[K${bar(seen, per_second, out.columns ?? USUAL_COLUMNS, out, unit)}`);
    else out.write(`${line(seen, per_second, unit)}\n`);
  };
  const timer = setInterval(draw, has_bar ? DRAW_MS : LINE_MS);
  return {
    stop() {
      clearInterval(timer);
      if (drawn) out.write('\r\x1b[K');
    },
  };
}

/** Returns the rate a second over the last few seconds, at each call. `begun_with`: what was done before. */
function rateOf(begun_with: number): (done: number) => number {
  const samples = [{ at: performance.now(), done: begun_with }];
  return (done) => {
    const now = performance.now();
    samples.push({ at: now, done });
    while (samples.length > 2 && now - samples[0]!.at > RATE_WINDOW_MS) samples.shift();
    const first = samples[0]!;
    return now > first.at ? ((done - first.done) / (now - first.at)) * 1000 : 0;
  };
}

/** A bar with as much beside it as fits into `columns` together with the ^C that a terminal shows. */
export function bar({ total, done }: Progress, per_second: number, columns: number, out?: Out, unit = URLS): string {
  const percent = `${percentOf({ total, done })}%`.padStart(4);
  const counts = `${count(done).padStart(count(total).length)} of ${count(total)}`;
  const rate = per_second >= 0.5 ? `${count(Math.round(per_second))} ${unit.rate}/s` : '';
  const left = per_second > 0 && done < total ? `${duration((total - done) / per_second)} left` : '';
  const choices = [[percent, counts, rate, left], [percent, counts, left], [percent, counts], [percent]];
  const width = Math.max(1, columns - SPARE_COLUMNS);
  for (const choice of choices) {
    const text = choice.filter(Boolean).join('  ');
    const room = width - text.length - 2;
    if (room < NARROWEST_BAR) continue;
    const cells = Math.min(WIDEST_BAR, room);
    const full = total === 0 ? 0 : Math.round((done / total) * cells);
    return `${painted('green', '█'.repeat(full), out)}${painted('gray', '░'.repeat(cells - full), out)}  ${text}`;
  }
  return percent.slice(0, width);
}

/** @example line({ total: 200, done: 50 }, 12) // '50 of 200 URLs checked (25%), 12 URL/s, 13 s left' */
export function line(progress: Progress, per_second: number, unit = URLS): string {
  const { total, done } = progress;
  const left = per_second > 0 && done < total ? `, ${duration((total - done) / per_second)} left` : '';
  const rate = `${count(Math.round(per_second))} ${unit.rate}/s`;
  return `${count(done)} of ${count(total)} ${unit.done} (${percentOf(progress)}%), ${rate}${left}`;
}

const percentOf = ({ total, done }: Progress) => (total === 0 ? 0 : Math.floor((done / total) * 100));

const painted = (style: 'green' | 'gray', text: string, out: Out | undefined) =>
  out === undefined ? text : styleText(style, text, { stream: out });

export const count = (n: number) => Math.round(n).toLocaleString('en-US');

export function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
