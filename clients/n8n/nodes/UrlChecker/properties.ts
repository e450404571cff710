// What the editor of n8n shows of the node: its resources, their operations, and the fields of each.
import type { INodeProperties } from 'n8n-workflow';

const VERDICTS = [
  { name: 'Blocked', value: 'blocked' },
  { name: 'Broken', value: 'broken' },
  { name: 'OK', value: 'ok' },
  { name: 'Redirected', value: 'redirected' },
  { name: 'Soft 404', value: 'soft_404' },
  { name: 'Unreachable', value: 'unreachable' },
];

const shownFor = (resource: string, operation: readonly string[]) => ({
  show: { resource: [resource], operation: [...operation] },
});

export const properties: INodeProperties[] = [
  {
    displayName: 'Resource',
    name: 'resource',
    type: 'options',
    noDataExpression: true,
    options: [
      { name: 'Account', value: 'account' },
      { name: 'Job', value: 'job' },
      { name: 'URL', value: 'url' },
    ],
    default: 'url',
  },
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: { show: { resource: ['url'] } },
    options: [
      {
        name: 'Check',
        value: 'check',
        action: 'Check links',
        description: 'Check the URLs of all items in one job, and wait for the results',
      },
    ],
    default: 'check',
  },
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: { show: { resource: ['job'] } },
    options: [
      {
        name: 'Cancel',
        value: 'cancel',
        action: 'Cancel a job',
        description: 'End a job; credits of unchecked URLs come back',
      },
      { name: 'Get', value: 'get', action: 'Get a job', description: 'Get the status and the counts of a job' },
      {
        name: 'Get Results',
        value: 'getResults',
        action: 'Get the results of a job',
        description: 'Get an item for each URL that is checked',
      },
      {
        name: 'Resume',
        value: 'resume',
        action: 'Resume a job',
        description: 'Continue a paused job, once there are credits',
      },
      {
        name: 'Start',
        value: 'start',
        action: 'Start a job',
        description: 'Submit the URLs of all items as one job, and go on',
      },
    ],
    default: 'start',
  },
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: { show: { resource: ['account'] } },
    options: [
      { name: 'Get Usage', value: 'getUsage', action: 'Get usage', description: 'Get the credits that are left' },
    ],
    default: 'getUsage',
  },
  {
    displayName: 'URL',
    name: 'url',
    type: 'string',
    required: true,
    displayOptions: { show: { resource: ['url', 'job'], operation: ['check', 'start'] } },
    default: '={{ $json.url }}',
    description: 'The URL of each item. The URLs of all items are one job, in which each URL costs one credit.',
  },
  {
    displayName: 'Job ID',
    name: 'jobId',
    type: 'string',
    required: true,
    displayOptions: shownFor('job', ['cancel', 'get', 'getResults', 'resume']),
    default: '={{ $json.job_id }}',
  },
  {
    displayName: 'Return All',
    name: 'returnAll',
    type: 'boolean',
    displayOptions: shownFor('job', ['getResults']),
    default: false,
    description: 'Whether to return all results or only up to a given limit',
  },
  {
    displayName: 'Limit',
    name: 'limit',
    type: 'number',
    typeOptions: { minValue: 1 },
    displayOptions: { show: { resource: ['job'], operation: ['getResults'], returnAll: [false] } },
    default: 50,
    description: 'Max number of results to return',
  },
  {
    displayName: 'Verdict',
    name: 'verdict',
    type: 'options',
    displayOptions: shownFor('job', ['getResults']),
    options: [{ name: 'Any', value: '' }, ...VERDICTS],
    default: '',
    description: 'The verdict that results must have',
  },
  {
    displayName: 'Options',
    name: 'options',
    type: 'collection',
    placeholder: 'Add option',
    displayOptions: { show: { resource: ['url', 'job'], operation: ['check', 'start'] } },
    default: {},
    options: [
      {
        displayName: 'Accepted Status Codes',
        name: 'acceptStatusCodes',
        type: 'string',
        default: '',
        placeholder: '401,403',
        description: 'Answers with these status codes are not broken',
      },
      { displayName: 'Label', name: 'label', type: 'string', default: '', description: 'Your own words for the job' },
      {
        displayName: 'Wait Seconds',
        name: 'waitSeconds',
        type: 'number',
        typeOptions: { minValue: 1 },
        default: 600,
        description: 'The longest wait for the results. The job goes on after it: get its results by its ID.',
      },
    ],
  },
];
