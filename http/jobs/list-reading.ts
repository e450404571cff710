// How a file was read, as the answers of an upload and of an analysis say it; and the option that chooses the column.

import { Nullable, Type } from '../../events/schema.ts';
import { FORMATS, listOfFormats, SHEET_FORMATS } from '../../intake/formats.ts';
import { ALL_COLUMNS, WARNINGS, type Warning } from '../../intake/sheet.ts';
import { Count } from '../frame/schemas.ts';

/** What an upload may be. */
export const LIST_FILE =
  `A list of URLs: ${listOfFormats()}. A cell or a line may hold several URLs. No URL is fetched to find more of them: the entries ` +
  'of an index of sitemaps are checked themselves.';

const MAX_COLUMN_CHARS = 255;

/** The query parameter `column`. */
export const columnOption = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: MAX_COLUMN_CHARS,
    description:
      'The column with the URLs, by its header or by its letter, such as `C`; for JSON the path of names, such as `data.url`. ' +
      `\`${ALL_COLUMNS}\` takes every column with URLs. Without it, a column with a header such as \`URL\` or \`Website\` is taken, else the ` +
      'one with the largest share of URLs.',
    examples: ['Landing page'],
  }),
);

/** The query parameter `encoding`. */
export const encodingOption = Type.Optional(
  Type.String({
    minLength: 2,
    maxLength: 40,
    description:
      'The encoding of a text file, by its name in the Encoding Standard, such as `windows-1250` or `shift_jis`. Without it, the bytes tell.',
    examples: ['windows-1251'],
  }),
);

/** The query parameter `sheet`. */
export const sheetOption = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: MAX_COLUMN_CHARS,
    description:
      'The sheet of a workbook, or the file in a ZIP archive, by its name. Without it, the first one with URLs is taken, a hidden one only where no other has any.',
    examples: ['Landing pages'],
  }),
);

const column = {
  index: Count('From 0.'),
  letter: Type.String({ description: 'As a spreadsheet names the column.' }),
  name: Nullable(Type.String({ description: 'The header, or the path of names in JSON; null without one.' })),
};

const otherColumn = {
  ...column,
  url_share: Type.Number({ minimum: 0, maximum: 1, description: 'Share of its rows that hold a URL.' }),
};

export const readingFields = {
  format: Type.Enum(SHEET_FORMATS, {
    description: Object.entries(FORMATS)
      .map(([format, { means }]) => `\`${format}\`: ${means}.`)
      .join(' '),
  }),
  sheet_name: Nullable(Type.String({ description: 'The sheet of a workbook that was read.' })),
  column: Type.Object(column, { description: 'The column whose URLs were taken.' }),
  other_columns: Type.Array(Type.Object(otherColumn), {
    description: 'Other columns that hold URLs, which were not taken; the largest share first, at most 20.',
  }),
  other_sheets: Type.Array(
    Type.Object({ sheet_name: Type.String({ description: 'The name of the sheet.' }), ...otherColumn }),
    {
      description:
        'Other sheets of a workbook that hold URLs at their beginning, each with its likeliest column; at most 20. They were not taken.',
    },
  ),
  warnings: Type.Array(Type.Object({ code: Type.Enum(Object.keys(WARNINGS) as Warning[]), message: Type.String() }), {
    description: `What may not be meant so. ${Object.entries(WARNINGS)
      .map(([code, text]) => `\`${code}\`: ${text}`)
      .join(' ')}`,
  }),
};

export const readingExample = {
  format: 'csv',
  sheet_name: null,
  column: { index: 1, letter: 'B', name: 'link' },
  other_columns: [{ index: 4, letter: 'E', name: 'referrer', url_share: 0.4 }],
  other_sheets: [],
  warnings: [],
};
