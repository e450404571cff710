// What a job of the list would check and cost, before anything is spent.
import { to } from '../../app/address.ts';
import { SELLS } from '../../app/selling.ts';
import { Figure, Figures } from '../../ui/figures.tsx';
import { SelectField } from '../../ui/form.tsx';
import { counted, grouped } from '../../ui/values.tsx';
import { ALL_COLUMNS, type Analysis, type Place } from './analysis.ts';

interface PreviewProps {
  analysis: Analysis;
  place: Place;
  onPlace(place: Place): void;
  onStart(): void;
  is_busy: boolean;
}

export function Preview({ analysis, place, onPlace, onStart, is_busy }: PreviewProps) {
  const { cost, credit_balance } = analysis;
  return (
    <>
      <section class="card">
        <Found analysis={analysis} place={place} onPlace={onPlace} />
        <LeftColumns analysis={analysis} place={place} />
        {analysis.warnings.map(({ code, message }) => (
          <p key={code} class="notice">
            {WARNINGS[code] ?? message}
          </p>
        ))}
        <footer class="title">
          <p>
            <b>{counted(cost, 'credit')}</b> of your {grouped(credit_balance)}
          </p>
          <button type="button" class="primary" onClick={onStart} disabled={is_busy || cost === 0}>
            Check {counted(cost, 'URL')}
          </button>
        </footer>
        <Shortage cost={cost} balance={credit_balance} />
      </section>
      <Samples analysis={analysis} />
    </>
  );
}

/** Warnings whose message names parameters of the API, in words for what this page has. */
const WARNINGS: Readonly<Partial<Record<Analysis['warnings'][number]['code'], string>>> = {
  several_columns:
    'Another column is as likely to hold the URLs that you mean. Choose it under “Column”, or all of them.',
  several_sheets: 'Other sheets hold URLs too, and are left out. Choose one under “Sheet”.',
  unread_files:
    'The archive has files that were not read: workbooks, documents and archives, damaged lists, or lists behind the first hundred. ' +
    'Drop those here by themselves.',
};

function Shortage({ cost, balance }: { cost: number; balance: number }) {
  if (cost <= balance) return null;
  return (
    <p class="notice">
      {balance === 0
        ? 'You have no credits: the job waits until you have some.'
        : `The job checks the first ${grouped(balance)}, then waits for the other ${counted(cost - balance, 'credit')}.`}{' '}
      {SELLS ? <a href={to('/account/buy')}>Buy credits</a> : 'An administrator can grant more.'}
    </p>
  );
}

/** Reasons whose name alone does not say what to do about the row. */
const REASONS: Readonly<Partial<Record<string, string>>> = {
  undecodable: 'characters were lost: save the file as UTF-8',
  unsupported_scheme: 'neither http nor https',
  several_words: 'text without a URL',
  space_in_url: 'a space in the URL: write it as %20',
  no_domain: 'no domain, such as example.com',
  relative: 'relative to a page that the file does not name',
  placeholder: 'a placeholder: put a value in its place',
  uncalculated: 'a formula without a result: open the file, and save it',
  prefix_missing: 'no http:// or https:// before it',
};

/** The kinds of rows, and what a job does with each. */
const KINDS = [
  { name: 'valid', label: 'Valid', what: 'checked' },
  { name: 'missing_prefix', label: 'Fixable', what: 'checked with https:// before them' },
  { name: 'blocked', label: 'Blocklisted', what: 'left out: their domain is on the blocklist' },
  { name: 'invalid', label: 'Invalid', what: 'left out: no valid URL' },
] as const;

function Found({ analysis, place, onPlace }: Pick<PreviewProps, 'analysis' | 'place' | 'onPlace'>) {
  return (
    <>
      <PlaceFields analysis={analysis} place={place} onPlace={onPlace} />
      <Figures>
        <Figure label="Rows">{grouped(analysis.total_rows)}</Figure>
        {KINDS.map(({ name, label, what }) => (
          <Figure key={name} label={label} note={what}>
            {grouped(analysis[name].count)}
          </Figure>
        ))}
        <Figure label="Duplicates" note="checked once">
          {grouped(analysis.duplicates)}
        </Figure>
      </Figures>
    </>
  );
}

/** The column and the sheet: which were read, and which others hold URLs. */
function PlaceFields({ analysis, place, onPlace }: Pick<PreviewProps, 'analysis' | 'place' | 'onPlace'>) {
  const takes_all = place.column === ALL_COLUMNS;
  const { column, other_columns, sheet_name, other_sheets } = analysis;
  const sheet = sheet_name ?? undefined;
  const sheets = [...new Set([sheet_name ?? '', ...other_sheets.map((other) => other.sheet_name)])];
  return (
    <div class="fields">
      {other_columns.length > 0 && (
        <SelectField
          label="Column"
          value={takes_all ? ALL_COLUMNS : column.letter}
          options={[
            ...[column, ...other_columns].map((one) => ({ value: one.letter, label: labelOf(one) })),
            { value: ALL_COLUMNS, label: 'All columns with URLs' },
          ]}
          onChange={(letter) => onPlace({ column: letter, sheet })}
        />
      )}
      {other_sheets.length > 0 && (
        <SelectField
          label="Sheet"
          value={sheet}
          options={sheets.map((name) => ({ value: name, label: name }))}
          onChange={(name) => onPlace({ sheet: name })}
        />
      )}
      {other_columns.length === 0 && other_sheets.length === 0 && column.name !== null && (
        <small>URLs from {labelOf(column)}</small>
      )}
    </div>
  );
}

/** A list with several columns of URLs is read by one of them unless its owner says otherwise: said where no warning says it. */
function LeftColumns({ analysis: { other_columns, warnings }, place }: Pick<PreviewProps, 'analysis' | 'place'>) {
  const is_said = warnings.some(({ code }) => code === 'several_columns');
  if (other_columns.length === 0 || is_said || place.column !== undefined) return null;
  const names = other_columns.map(labelOf).join(', ');
  return <p class="notice">URLs in other columns are left out: {names}. Choose one under “Column”, or all of them.</p>;
}

const labelOf = ({ letter, name }: { letter: string; name: string | null }) =>
  name === null ? `Column ${letter}` : `${letter}: ${name}`;

function Samples({ analysis }: Pick<PreviewProps, 'analysis'>) {
  return (
    <>
      {KINDS.filter(({ name }) => analysis[name].samples.length > 0).map(({ name, label }) => (
        <details key={name} class="card" open={name !== 'valid'}>
          <summary>
            {label}: {counted(analysis[name].count, 'row')}
            {analysis[name].samples.length < analysis[name].count && `, the first ${analysis[name].samples.length}`}
          </summary>
          <ul class="samples">
            {analysis[name].samples.map(({ row, value, reason, blocked_domain }) => (
              <li key={`${row}${value}`}>
                <small>row {grouped(row)}</small> <bdi>{value}</bdi>
                {reason && <small> {blocked_domain ?? REASONS[reason] ?? reason.replaceAll('_', ' ')}</small>}
              </li>
            ))}
          </ul>
        </details>
      ))}
    </>
  );
}
