// Shows either OpenAPI document; `?urls.primaryName=` of the address picks one. In the browser.
const { SwaggerUIBundle, SwaggerUIStandalonePreset } = window;
const at = (path) => new URL(path, document.baseURI).pathname;

SwaggerUIBundle({
  dom_id: '#page',
  urls: [
    { name: 'Public API', url: at('api/v2/openapi.json') },
    { name: 'Gateway', url: at('openapi.json') },
  ],
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  layout: 'StandaloneLayout',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
  displayRequestDuration: true,
  // Nothing is sent to anybody else, and no credentials are kept.
  validatorUrl: null,
  persistAuthorization: false,
});
