// Numbers to look at: side by side with their labels, as shares of a whole, and as a histogram. All are readable as text.
import type { ComponentChildren } from 'preact';
import { grouped, percent, Time } from './values.tsx';

/** @example <Figures><Figure label="Balance" note="credits">{grouped(300)}</Figure></Figures> */
export function Figures({ children }: { children: ComponentChildren }) {
  return <dl class="figures">{children}</dl>;
}

interface FigureProps {
  label: string;
  note?: ComponentChildren;
  is_error?: boolean;
  /** The number as text. */
  children: ComponentChildren;
}

export function Figure({ label, note, is_error = false, children }: FigureProps) {
  return (
    <div>
      <dt>{label}</dt>
      <dd class={is_error ? 'is-error' : undefined}>{children}</dd>
      {note && (
        <dd>
          <small>{note}</small>
        </dd>
      )}
    </div>
  );
}

/** The credits that a user has used in the current period. `period_end`: the time when the count begins again, in ISO 8601. Among other `Figure`s. */
export function UsedFigure({
  usage: { credits_used, period_end },
}: {
  usage: { credits_used: number; period_end: string };
}) {
  return (
    <Figure
      label="Used in this period"
      note={
        <>
          until <Time at={period_end} />
        </>
      }
    >
      {grouped(credits_used)}
    </Figure>
  );
}

interface Share {
  name: string;
  label: string;
  count: number;
  /** Where the results of this share are; absent where no filter has them. */
  href?: string | undefined;
}

export function ShareBar({ shares }: { shares: readonly Share[] }) {
  const total = shares.reduce((sum, { count }) => sum + count, 0);
  const shown = shares.filter(({ count }) => count > 0);
  return (
    <>
      <div class="share-bar" aria-hidden="true">
        {shown.map(({ name, count }) => (
          <span key={name} class={`is-${name}`} style={{ flexGrow: count }} />
        ))}
      </div>
      <ul class="legend">
        {shown.map(({ name, label, count, href }) => (
          <li key={name} class={`is-${name}`}>
            {href ? <a href={href}>{label}</a> : label} <b>{grouped(count)}</b> <small>{percent(count, total)}</small>
          </li>
        ))}
      </ul>
    </>
  );
}

export function Histogram({ label, buckets }: { label: string; buckets: readonly { label: string; count: number }[] }) {
  const most = Math.max(1, ...buckets.map(({ count }) => count));
  return (
    <ol class="histogram" aria-label={label}>
      {buckets.map((bucket) => (
        <li key={bucket.label} title={`${bucket.label}: ${grouped(bucket.count)}`}>
          <span class="column" style={{ height: `${(bucket.count / most) * 100}%` }} />
          <small>{bucket.label}</small>
          <span class="hidden">{grouped(bucket.count)}</span>
        </li>
      ))}
    </ol>
  );
}
