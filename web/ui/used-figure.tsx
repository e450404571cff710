// The credits that a user has used in the current period.
import { Figure } from './figures.tsx';
import { grouped } from './numbers.ts';
import { Time } from './time.tsx';

/** `period_end`: the time when the count begins again, in ISO 8601. Among other `Figure`s. */
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
