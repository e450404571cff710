// Where a service is, and an API key of its public API.
import type {
  IAuthenticateGeneric,
  ICredentialTestRequest,
  ICredentialType,
  Icon,
  INodeProperties,
} from 'n8n-workflow';

export class UrlCheckerApi implements ICredentialType {
  name = 'urlCheckerApi';

  displayName = 'URL Checker API';

  icon: Icon = { light: 'file:../icons/url-checker.svg', dark: 'file:../icons/url-checker.dark.svg' };

  documentationUrl = 'https://github.com/OWNER/url-checker/blob/main/docs/guides/api.md';

  properties: INodeProperties[] = [
    {
      displayName: 'Base URL',
      name: 'baseUrl',
      type: 'string',
      required: true,
      default: '',
      placeholder: 'https://checker.example.com',
      description: 'Where the service is, without /api/v2',
    },
    {
      displayName: 'API Key',
      name: 'apiKey',
      type: 'string',
      typeOptions: { password: true },
      required: true,
      default: '',
      description: 'Made on the page "API keys" of the console',
    },
  ];

  authenticate: IAuthenticateGeneric = {
    type: 'generic',
    properties: { headers: { Authorization: '=Bearer {{$credentials.apiKey}}' } },
  };

  test: ICredentialTestRequest = {
    request: { baseURL: '={{$credentials.baseUrl.replace(/\\/$/, "")}}', url: '/api/v2/usage' },
  };
}
