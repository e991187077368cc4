import type { Clock } from '../../kernel/base/clock.ts';
import { invalidField } from '../../kernel/base/errors.ts';
import type { AddressGuard } from '../../kernel/outbound/address-guard.ts';
import { type HttpClient, parseOutgoingUrl } from '../../kernel/outbound/http-client.ts';
import type { Credentials, ExporterType } from './schemas.ts';
import { Datadog } from './transports/datadog.ts';
import { Elastic } from './transports/elastic.ts';
import { HttpsJson } from './transports/https-json.ts';
import { Otlp } from './transports/otlp.ts';
import { ReceiverRequest } from './transports/receiver-request.ts';
import { SplunkHec } from './transports/splunk-hec.ts';
import { parseSyslogEndpoint, Syslog } from './transports/syslog.ts';
import type { Transport } from './transports/transport.ts';

/** What a transport needs of the service. */
export interface ReceiverParts {
  http: HttpClient;
  guard: AddressGuard;
  clock: Clock;
  version: string;
}

export interface Destination {
  owner: string;
  endpoint: string;
  caPem: string | null;
  credentials: Credentials;
}

interface Receiver {
  /** The sets of credentials that it takes, by their names; an empty set means none are needed. */
  credentials: readonly (readonly (keyof Credentials)[])[];
  /** A URL that it does not take gets this explanation. */
  endpointForm: string;
  isEndpoint(text: string): boolean;
  open(parts: ReceiverParts, destination: Destination): Transport;
}

const isUrl = (text: string) => parseOutgoingUrl(text) !== null;
const URL_FORM = 'must be a URL such as https://siem.example.com/path, without a user, a password or a fragment';

function httpReceiver(
  credentials: Receiver['credentials'],
  open: (request: ReceiverRequest, destination: Destination, parts: ReceiverParts) => Transport,
  endpointOf: (endpoint: string) => string = (endpoint) => endpoint,
): Receiver {
  return {
    credentials,
    endpointForm: URL_FORM,
    isEndpoint: isUrl,
    open: (parts, destination) => {
      const { owner, caPem } = destination;
      const endpoint = endpointOf(destination.endpoint);
      return open(new ReceiverRequest(parts.http, { owner, endpoint, caPem }), destination, parts);
    },
  };
}

/** Adds a path to the endpoint unless it ends in it. */
const ending = (path: string) => (endpoint: string) =>
  endpoint.endsWith(path) ? endpoint : `${endpoint.replace(/\/$/, '')}${path}`;

export const RECEIVERS: Readonly<Record<ExporterType, Receiver>> = {
  splunk_hec: httpReceiver([['token']], (request, { credentials }) => new SplunkHec(request, credentials.token ?? '')),
  elastic: httpReceiver(
    [['api_key'], ['username', 'password']],
    (request, { credentials: { api_key, username = '', password = '' } }) =>
      new Elastic(request, api_key === undefined ? { username, password } : { api_key }),
    ending('/_bulk'),
  ),
  datadog: httpReceiver(
    [['api_key']],
    (request, { credentials }, { clock }) => new Datadog(request, credentials.api_key ?? '', clock),
  ),
  otlp: httpReceiver(
    [[], ['token']],
    (request, { credentials }, { version }) => new Otlp(request, credentials.token ?? null, version),
    ending('/v1/logs'),
  ),
  https_json: httpReceiver(
    [[], ['token']],
    (request, { credentials }) => new HttpsJson(request, credentials.token ?? null),
  ),
  syslog: {
    credentials: [[]],
    endpointForm: 'must be tls://host:port, or tcp://host:port for a private host that the operator has allowed',
    isEndpoint: (text) => parseSyslogEndpoint(text) !== null,
    open: ({ guard, http: { slots }, version }, { owner, endpoint: text, caPem }) => {
      const endpoint = parseSyslogEndpoint(text);
      if (endpoint === null) throw new Error('the endpoint of a syslog exporter is malformed');
      return new Syslog({ guard, slots, version }, { owner, endpoint, caPem });
    },
  },
};

export function refuseUnusable(type: ExporterType, endpoint: string, credentials: Credentials): void {
  const { credentials: sets, endpointForm, isEndpoint } = RECEIVERS[type];
  if (!isEndpoint(endpoint)) throw invalidField('/body/endpoint', endpointForm);
  const given = Object.keys(credentials).sort().join(' and ');
  if (sets.some((set) => set.toSorted().join(' and ') === given)) return;
  const forms = sets.map((set) => (set.length === 0 ? 'nothing' : set.join(' and '))).join(', or ');
  throw invalidField('/body/credentials', `must hold ${forms} for an exporter of type ${type}`);
}
