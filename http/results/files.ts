// Serves a stored file to the holder of a link that the service signed: the links of the store of files in a folder.
import type { BlobLink } from '../../commands/blobs.ts';
import { Type } from '../../events/schema.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError } from '../frame/errors.ts';
import { anError, routeOf } from '../frame/route.ts';
import { assertValid, linkErrors, linkParameters, openSignedLinks, type SignedLinks } from '../frame/signed-links.ts';
import { groupOf, type Parts } from '../group.ts';
import { attachment, FILE_TYPES } from './export/file-name.ts';

const wire = ({ blobs, keys, public_url, now }: Parts) => ({
  blobs,
  links: openSignedLinks({ secret: keys.links, base_url: public_url, now }),
});
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'exports');

const PATH = '/files';

/** The link of a blob, for adapters whose store serves none itself. */
export function blobLink(links: Pick<SignedLinks, 'sign'>, key: string, link: BlobLink): string {
  const { file_name: name, content_type: type, expires_at } = link;
  return links.sign(PATH, { key, name, type }, Date.parse(expires_at)).url;
}

const SANDBOX = "default-src 'none'; frame-ancestors 'none'; sandbox";
const NO_FILE = 'The file is not there any more.';

export const storedFile = route({
  id: 'downloadFile',
  method: 'GET',
  path: PATH,
  access: 'none',
  summary: 'Download a stored file by a signed link',
  description: 'The service makes such a link, and refuses one with any changed parameter.',
  query: Type.Object({
    key: Type.String({
      minLength: 1,
      maxLength: 1000,
      description: 'The key of the file.',
      examples: ['uploads/2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11'],
    }),
    name: Type.String({ maxLength: 1000, description: 'The name to save it under.', examples: ['urls.csv'] }),
    type: Type.String({ maxLength: 200, description: 'Its media type.', examples: ['text/csv'] }),
    ...linkParameters,
  }),
  responses: {
    200: {
      description: 'The file, byte for byte.',
      content_type: 'application/octet-stream',
      other_content_types: FILE_TYPES,
      schema: Type.String(),
      example: 'url\r\nhttps://example.com/old\r\n',
      headers: { 'Content-Disposition': 'An attachment with the name.' },
    },
  },
  errors: { ...linkErrors, 404: anError('The file was deleted.', 'file_not_found', NO_FILE) },
  async handler(request, { blobs, links }) {
    assertValid(links, request);
    const { key, name, type } = request.query;
    const stream = await blobs.get(key);
    if (stream === null) throw new HttpError(404, 'file_not_found', NO_FILE);
    // With the frame's nosniff, this keeps a file of an enemy's from running anything in the browser of whoever opens it.
    const headers = { 'content-disposition': attachment(name), 'content-security-policy': SANDBOX };
    return { stream, headers: { ...headers, 'content-type': type } };
  },
});

export const group = groupOf(wire, [storedFile]);
