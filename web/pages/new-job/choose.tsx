// Where the reader drops a file, picks one, or pastes a list.
import { useId, useState } from 'preact/hooks';
import { Field } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';

/** The endings that the service reads; a test compares them with its table of formats. */
const FORMATS =
  '.csv,.tsv,.tab,.txt,.md,.rst,.adoc,.org,.tex,.bib,.ris,.url,.ics,.vcf,.xlsx,.xlsm,.ods,.json,.jsonl,.ndjson,.har,.xml,' +
  '.rss,.atom,.opml,.webloc,.fods,.xbel,.kml,.gpx,.html,.htm,.docx,.pptx,.odt,.odp,.pdf,.eml,.mbox,.mht,.mhtml,.gz,.zip';

export function Choose({ onChoose }: { onChoose(file: File): void }) {
  const [list, setList] = useState('');
  const id = useId();
  const choose = (files: FileList | null) => files?.[0] && onChoose(files[0]);
  return (
    <>
      <section class="card drop">
        <label for={id}>
          <b>Drop a file here</b>, or choose one
        </label>
        <small>
          Spreadsheets, text, sitemaps, feeds, pages, documents, e-mail, and ZIP archives of lists. The column with the
          URLs is found for you.
        </small>
        {/* It covers the card: a browser's own file input takes what is dropped on it. */}
        <input id={id} type="file" accept={FORMATS} onChange={(event) => choose(event.currentTarget.files)} />
      </section>
      <Form class="card" onSubmit={() => onChoose(new File([list], 'pasted.txt', { type: 'text/plain' }))}>
        <Field label="Or paste a list" hint="One URL a line.">
          {(control) => (
            <textarea
              {...control}
              rows={8}
              value={list}
              placeholder="https://example.com/"
              onInput={(event) => setList(event.currentTarget.value)}
            />
          )}
        </Field>
        <p>
          <button type="submit" disabled={list.trim() === ''}>
            Preview
          </button>
        </p>
      </Form>
    </>
  );
}
