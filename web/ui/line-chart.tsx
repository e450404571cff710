// Lines over time, drawn by uPlot. The same numbers are in a table below them, for who does not see lines or wants the numbers.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { type Column, Table } from './table.tsx';
import { grouped, Time } from './values.tsx';

export interface Line {
  label: string;
  /** Of the colours of `style/main.css`. */
  color: 'accent' | 'ok' | 'redirected' | 'soft_404' | 'unreachable' | 'broken';
  /** One for each time; null where there is none. */
  values: readonly (number | null)[];
}

interface LineChartProps {
  title: string;
  /** Ascending: days as `2026-01-31`, which are days in UTC, or times as the service writes them. */
  times: readonly string[];
  lines: readonly Line[];
  /** A value as text. */
  show?(value: number): string;
  /** Times that get an upright line. */
  marked?: readonly string[];
}

const HEIGHT_PX = 180;
const AXIS_PX = { x: 28, y: 64 };
/** Of a digit, and between a value and the chart. */
const DIGIT_PX = 7;
const GAP_PX = 16;
/** Between two labels below the chart. */
const LABEL_PX = 72;
/** Values are whole numbers, so that marks between them would say nothing. */
const STEPS = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat();

export function LineChart(props: LineChartProps) {
  const { title, times, lines, show = grouped } = props;
  const is_empty = lines.every(({ values }) => values.every((value) => !value));
  const [at, setAt] = useState<number | null>(null);
  const shown = Math.min(at ?? times.length, times.length - 1);
  const valueAt = ({ values }: Line) => textOf(values[shown], show);
  return (
    <figure class="card chart">
      <figcaption>
        <h2>{title}</h2>
        <small>{shownTime(times[shown]!)}</small>
      </figcaption>
      <ul class="legend">
        {lines.map((line) => (
          <li key={line.label} style={{ '--of': `var(--${line.color})` }}>
            {line.label} <b>{valueAt(line)}</b>
          </li>
        ))}
      </ul>
      {is_empty ? <p class="notice">Nothing in this time.</p> : <Drawn {...props} show={show} onPoint={setAt} />}
      <Numbers {...props} show={show} />
    </figure>
  );
}

const textOf = (value: number | null | undefined, show: (value: number) => string) =>
  value === null || value === undefined ? '–' : show(value);

const isDay = (time: string) => time.length === 10;

const shownTime = (time: string) => (isDay(time) ? time : <Time at={time} />);

type Drawing = LineChartProps & { show(value: number): string; onPoint(index: number | null): void };

function Drawn(drawing: Drawing) {
  const host = useRef<HTMLDivElement>(null);
  const { title, times, lines } = drawing;
  // What is drawn changes with its numbers alone, not with each rendering.
  const of = JSON.stringify([times, lines, drawing.marked]);
  useEffect(() => {
    const element = host.current!;
    const chart = new uPlot(optionsOf(drawing, element), dataOf(drawing), element);
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    resized.observe(element);
    const redraw = () => chart.redraw();
    const system = matchMedia('(prefers-color-scheme: dark)');
    system.addEventListener('change', redraw);
    const chosen = new MutationObserver(redraw);
    chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      resized.disconnect();
      system.removeEventListener('change', redraw);
      chosen.disconnect();
      chart.destroy();
    };
  }, [of]);
  return (
    <div ref={host} class="lines" role="img" aria-label={`${title}: lines whose numbers are in the table below`} />
  );
}

const dataOf = ({ times, lines }: Drawing) =>
  [times.map((time) => Date.parse(time) / 1000), ...lines.map(({ values }) => [...values])] as uPlot.AlignedData;

function optionsOf({ times, lines, show, marked = [], onPoint }: Drawing, host: HTMLElement): uPlot.Options {
  /** A colour of the theme that is on, as a canvas knows it. */
  const colorOf = (name: string) => () => {
    host.style.color = `var(--${name})`;
    return getComputedStyle(host).color;
  };
  const in_days = isDay(times[0]!);
  const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  const month = new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric', timeZone: 'UTC' });
  const hour = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
  const written = in_days ? (times.length > 200 ? month : day) : hour;
  const axis = { stroke: colorOf('muted'), grid: { stroke: colorOf('line'), width: 1 }, ticks: { show: false } };
  return {
    width: host.clientWidth,
    height: HEIGHT_PX,
    ...(in_days && { tzDate: (s: number) => uPlot.tzDate(new Date(s * 1000), 'UTC') }),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_, least, most) => [Math.min(0, least), Math.max(1, most * 1.05)] } },
    axes: [
      { ...axis, size: AXIS_PX.x, space: LABEL_PX, values: (_, splits) => splits.map((s) => written.format(s * 1000)) },
      { ...axis, size: widthFor, incrs: STEPS, values: (_, splits) => splits.map(show) },
    ],
    series: [
      {},
      ...lines.map(({ label, color }) => ({
        ...{ label, stroke: colorOf(color), width: 2, points: { show: times.length === 1 } },
      })),
    ],
    hooks: {
      setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)],
      drawAxes: [(chart) => markTimes(chart, marked, colorOf('muted')())],
    },
  };
}

/** An axis as wide as its longest value. uPlot asks before there are any. */
const widthFor = (_: uPlot, values: string[] | null) =>
  Math.max(AXIS_PX.y, ...(values ?? []).map((value) => value.length * DIGIT_PX + GAP_PX));

function markTimes({ ctx, bbox, valToPos }: uPlot, marked: readonly string[], color: string): void {
  ctx.save();
  ctx.strokeStyle = color;
  ctx.setLineDash([4, 4]);
  ctx.beginPath();
  for (const time of marked) {
    const x = valToPos(Date.parse(time) / 1000, 'x', true);
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
  }
  ctx.stroke();
  ctx.restore();
}

function Numbers({ title, times, lines, show }: LineChartProps & { show(value: number): string }) {
  const [is_open, setOpen] = useState(false);
  const columns: Column<number>[] = [
    { label: isDay(times[0]!) ? 'Day (UTC)' : 'Time', cell: (n) => shownTime(times[n]!) },
    ...lines.map(({ label, values }) => ({
      ...{ label, is_number: true, cell: (n: number) => textOf(values[n], show) },
    })),
  ];
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The numbers as a table</summary>
      {is_open && (
        <Table
          caption={`${title}, the last first`}
          columns={columns}
          items={times.map((_, n) => times.length - 1 - n)}
          keyOf={(n) => times[n]!}
        />
      )}
    </details>
  );
}
