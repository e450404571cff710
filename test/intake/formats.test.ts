// One table names the formats.
import test from 'ava';
import { FORMATS, listOfFormats, SHEET_FORMATS } from '../../intake/formats.ts';

test('each format is named once, in the list that helps and errors show', (t) => {
  for (const format of SHEET_FORMATS) t.true(listOfFormats().includes(FORMATS[format].name), format);
});
