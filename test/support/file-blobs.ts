// Stored files of a test in a folder. Nobody serves their links.
import { openFileBlobs } from '../../adapters/blobs/files/file-blobs.ts';
import type { Blobs } from '../../commands/blobs.ts';

export const fileBlobs = (folder: string): Promise<Blobs> => openFileBlobs({ folder, sign: (key) => `file:${key}` });
