// The schema of what may be null: shared by the events and by the answers that show them.
import { Type } from 'typebox';

export const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);
