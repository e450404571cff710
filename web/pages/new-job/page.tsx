// A new job: choose a list, see what a job of it would check and cost, then start it.
import { useId, useMemo, useState } from 'preact/hooks';
import { newKey } from '../../api/ask.ts';
import { upload } from '../../api/upload.ts';
import { go, to } from '../../app/address.ts';
import { useSession } from '../../app/session.tsx';
import { useAction } from '../../ui/actions.tsx';
import { Refusal } from '../../ui/failure.tsx';
import { Field, Form } from '../../ui/form.tsx';
import { bytes } from '../../ui/values.tsx';
import { type Place, useAnalysis } from './analysis.ts';
import { Preview } from './preview.tsx';

export function Page() {
  const [file, setFile] = useState<File | null>(null);
  return (
    <>
      <header class="title">
        <h1>New job</h1>
      </header>
      {file ? (
        <Chosen key={`${file.name}${file.lastModified}`} file={file} onOther={() => setFile(null)} />
      ) : (
        <Choose onChoose={setFile} />
      )}
    </>
  );
}

function Chosen({ file, onOther }: { file: File; onOther(): void }) {
  const [place, setPlace] = useState<Place>({});
  const [share, setShare] = useState(0);
  const analysis = useAnalysis(file, place, setShare);
  const { again } = useSession();
  // The same list sent again after a lost answer makes one job.
  const idempotency_key = useMemo(newKey, [file, place]);
  const start = useAction(async () => {
    setShare(0);
    // The preview has shown the warning about a list of names alone.
    const is_of_names = analysis.value?.warnings.some(({ code }) => code === 'names_only');
    const wanted = is_of_names ? { ...place, accept_names: true } : place;
    const { job_id } = await upload('POST /jobs', wanted, file, { onProgress: setShare, idempotency_key });
    again();
    go(to(`/jobs/${job_id}`));
  });
  const error = start.error ?? analysis.error;
  return (
    <>
      <section class="card">
        <header class="title">
          <h2>
            {file.name} <small>{bytes(file.size)}</small>
          </h2>
          <button type="button" onClick={onOther} disabled={start.is_running}>
            Choose another list
          </button>
        </header>
        {(analysis.is_waiting || start.is_running) && (
          <UploadProgress share={share} then={start.is_running ? 'Starting the job' : 'Reading the list'} />
        )}
        <Refusal error={error} />
      </section>
      {analysis.value && (
        <Preview
          analysis={analysis.value}
          place={place}
          onPlace={setPlace}
          onStart={start.run}
          is_busy={start.is_running || analysis.is_waiting}
        />
      )}
    </>
  );
}

function UploadProgress({ share, then }: { share: number; then: string }) {
  const label = share < 1 ? 'Sending the file' : then;
  return (
    <p class="progress">
      <progress value={share < 1 ? share : undefined} aria-label={label} />
      {label} …
    </p>
  );
}

// Where the reader drops a file, picks one, or pastes a list.

function Choose({ onChoose }: { onChoose(file: File): void }) {
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
        <input id={id} type="file" onChange={(event) => choose(event.currentTarget.files)} />
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
