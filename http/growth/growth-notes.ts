// The administrators' notes beside the figures of a day.

import { openGrowthNotes } from '../../commands/growth-notes.ts';
import { MAX_NOTE_CHARS } from '../../events/growth-note.ts';
import { inWords, Type } from '../../events/schema.ts';
import { dayOf } from '../../readmodels/growth/calendar.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { accepted } from '../frame/errors.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { anError, routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';
import { Day, NoteView, noteExample } from './growth-view.ts';

const wire = ({ log }: Parts) => ({ notes: openGrowthNotes(log) });
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'growth');

const addNote = route({
  id: 'addGrowthNote',
  makes: true,
  method: 'POST',
  path: '/admin/growth-notes',
  access: 'admin',
  summary: 'Write a note about a day, which the dashboard shows',
  body: jsonBody(
    Type.Object({
      text: Type.String({
        minLength: 1,
        maxLength: MAX_NOTE_CHARS,
        pattern: inWords('\\S', 'must not be blank'),
        description: 'What happened.',
      }),
      date: Type.Optional(Day('The day, in UTC. Default: today.')),
    }),
    { example: { text: 'New pricing page', date: '2026-01-30' } },
  ),
  responses: { 201: { description: 'The note.', schema: NoteView, example: noteExample } },
  async handler({ body, command }, { notes }) {
    const context = command();
    const { text, date = dayOf(context.now) } = body;
    const added = accepted(await notes.add({ text, date }, context), 409);
    const note = { note_id: context.command_id, date, text, added_at: new Date(context.now).toISOString() };
    return { status: 201, body: { ...note, added_by: context.actor }, position: added.position };
  },
});

const deleteNote = route({
  id: 'deleteGrowthNote',
  method: 'DELETE',
  path: '/admin/growth-notes/{note_id}',
  access: 'admin',
  summary: 'Delete a note',
  responses: { 204: { description: 'The note is deleted.' } },
  errors: { 404: anError('There is no such note.', 'growth_note_not_found', 'There is no such note.') },
  async handler({ params, command }, { notes }) {
    const removed = accepted(await notes.remove(params.note_id, command()), 404);
    return { status: 204, position: removed.position };
  },
});

export const group = groupOf(wire, [addNote, deleteNote]);
