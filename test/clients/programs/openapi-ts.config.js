// Has @hey-api/openapi-ts write imports that Node runs as they are.
export default { input: 'v2.json', output: { path: 'generated', module: { extension: '.ts' } } };
