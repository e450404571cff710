// The attempts of the last day, hour by hour.
import { useAnswer } from '../../../api/use-answer.ts';
import { useEvery } from '../../../api/use-every.ts';
import { Failure } from '../../../ui/failure.tsx';
import { LineChart } from '../../../ui/line-chart.tsx';

const WAIT_MS = 60_000;

export function Hours() {
  const stats = useAnswer('GET /logs/stats', {});
  useEvery(WAIT_MS, stats);
  if (!stats.value) return <Failure of={stats} />;
  const { series } = stats.value;
  return (
    <>
      <Failure of={stats} />
      <LineChart
        title="Attempts in an hour"
        times={series.map(({ hour }) => hour)}
        lines={[
          { label: 'All', color: 'accent', values: series.map(({ entries }) => entries) },
          { label: 'Without a 2xx', color: 'broken', values: series.map(({ non_2xx }) => non_2xx) },
          { label: 'With an error', color: 'unreachable', values: series.map(({ errors }) => errors) },
        ]}
      />
    </>
  );
}
