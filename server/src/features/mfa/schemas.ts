import Type, { type Static } from 'typebox';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import { id, lineOfText, nullable, object, oneOf, timestampText } from '../../kernel/wire/wire.ts';

/** WebAuthn's own JSON has its own spelling of names, so that a browser library takes and gives it as it is. */

export const TRANSPORTS_MAX = 8;
const CREDENTIAL_ID_CHARS_MAX = 1364;
const CLIENT_DATA_CHARS_MAX = 4096;
const AUTHENTICATOR_DATA_CHARS_MAX = 8192;
const ATTESTATION_CHARS_MAX = 16_384;
const SIGNATURE_CHARS_MAX = 2048;
const PUBLIC_KEY_CHARS_MAX = 4096;
const USER_HANDLE_CHARS_MAX = 88;
const EXTENSIONS_MAX = 16;

const base64url = (maxLength: number, description: string, example?: string) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: '^[A-Za-z0-9_-]+$',
    description,
    ...(example !== undefined && { examples: [example] }),
  });

const transport = Type.String({ pattern: '^[a-z-]{1,32}$', description: 'A way to reach the authenticator.' });
const publicKeyType = oneOf(['public-key'], 'Always public-key.');

const Attachment = named(
  'AuthenticatorAttachment',
  'Whether the authenticator is part of the device. Not used.',
  oneOf(['platform', 'cross-platform']),
);
const ExtensionResults = named(
  'PasskeyExtensionResults',
  'What extensions reported. Not used.',
  Type.Object({}, { additionalProperties: true, maxProperties: EXTENSIONS_MAX }),
);

const credential = {
  id: base64url(CREDENTIAL_ID_CHARS_MAX, 'The id of the credential.', 'nLzJ5rTqQ0mT8w1ZkXk2Zg'),
  rawId: base64url(CREDENTIAL_ID_CHARS_MAX, 'The same id.', 'nLzJ5rTqQ0mT8w1ZkXk2Zg'),
  type: publicKeyType,
  authenticatorAttachment: Type.Optional(nullable(Attachment)),
  clientExtensionResults: Type.Optional(ExtensionResults),
};

const clientDataJSON = base64url(
  CLIENT_DATA_CHARS_MAX,
  'What the browser signed for, with challenge and origin.',
  'e30',
);

export const PasskeyRegistration = named(
  'PasskeyRegistration',
  'What `navigator.credentials.create` answers, as JSON (RegistrationResponseJSON of WebAuthn).',
  object({
    ...credential,
    response: described(
      'What the authenticator made.',
      object({
        clientDataJSON,
        attestationObject: base64url(ATTESTATION_CHARS_MAX, 'The new public key, in CBOR.', 'oA'),
        authenticatorData: Type.Optional(base64url(ATTESTATION_CHARS_MAX, 'Part of the attestation object. Not used.')),
        transports: Type.Optional(Type.Array(transport, { maxItems: TRANSPORTS_MAX, description: 'Its transports.' })),
        publicKeyAlgorithm: Type.Optional(
          Type.Integer({
            minimum: -(2 ** 31),
            maximum: 2 ** 31 - 1,
            description: 'Part of the attestation object. Not used.',
          }),
        ),
        publicKey: Type.Optional(base64url(PUBLIC_KEY_CHARS_MAX, 'Part of the attestation object. Not used.')),
      }),
    ),
  }),
);
export type PasskeyRegistration = Static<typeof PasskeyRegistration>;

export const PasskeyAssertion = named(
  'PasskeyAssertion',
  'What `navigator.credentials.get` answers, as JSON (AuthenticationResponseJSON of WebAuthn).',
  object({
    ...credential,
    response: described(
      'What the authenticator signed, and its signature.',
      object({
        clientDataJSON,
        authenticatorData: base64url(AUTHENTICATOR_DATA_CHARS_MAX, 'What the authenticator signed.', 'AA'),
        signature: base64url(SIGNATURE_CHARS_MAX, 'The signature.', 'AA'),
        userHandle: Type.Optional(
          nullable(base64url(USER_HANDLE_CHARS_MAX, 'Whose passkey it is.'), 'Whose passkey it is.'),
        ),
      }),
    ),
  }),
);
export type PasskeyAssertion = Static<typeof PasskeyAssertion>;

const Descriptor = named(
  'PasskeyDescriptor',
  'A passkey, as browsers name it.',
  object({
    id: Type.String({ description: 'The id of the credential, in base64url.' }),
    type: publicKeyType,
    transports: Type.Array(Type.String(), { description: 'Its transports.' }),
  }),
);

const challenge = Type.String({ description: 'To be signed once, within five minutes; in base64url.' });
const timeout = Type.Integer({ description: 'How long the browser waits, in milliseconds.' });

export const PasskeyCreationOptions = named(
  'PasskeyCreationOptions',
  'For `navigator.credentials.create`, as JSON (PublicKeyCredentialCreationOptionsJSON of WebAuthn).',
  object({
    rp: described(
      'The service.',
      object({
        id: Type.String({ description: 'The host name that the passkey belongs to.' }),
        name: Type.String({ description: 'The name of the service.' }),
      }),
    ),
    user: described(
      'You.',
      object({
        id: Type.String({ description: 'Whose passkey it will be, in base64url.' }),
        name: Type.String({ description: 'Your e-mail address.' }),
        displayName: Type.String({ description: 'Your name.' }),
      }),
    ),
    challenge,
    pubKeyCredParams: Type.Array(
      named(
        'PasskeyAlgorithm',
        'A signature algorithm that is accepted.',
        object({ type: publicKeyType, alg: Type.Integer({ description: 'Its number in COSE.' }) }),
      ),
    ),
    timeout,
    attestation: oneOf(['none'], 'No proof of the maker of the authenticator is requested.'),
    excludeCredentials: Type.Array(Descriptor, { description: 'Passkeys that you have already.' }),
    authenticatorSelection: described(
      'What the authenticator must be able to do.',
      object({
        residentKey: oneOf(['required'], 'The authenticator finds the passkey by itself.'),
        requireResidentKey: Type.Boolean({ description: 'The same, for older browsers.' }),
        userVerification: oneOf(['required'], 'The authenticator demands a PIN, a fingerprint or the like.'),
      }),
    ),
  }),
);
export type PasskeyCreationOptions = Static<typeof PasskeyCreationOptions>;

export const PasskeyRequestOptions = named(
  'PasskeyRequestOptions',
  'For `navigator.credentials.get`, as JSON (PublicKeyCredentialRequestOptionsJSON of WebAuthn).',
  object({
    rpId: Type.String({ description: 'The host name that the passkey belongs to.' }),
    challenge,
    timeout,
    userVerification: oneOf(['required'], 'The authenticator demands a PIN, a fingerprint or the like.'),
    allowCredentials: Type.Array(Descriptor, { description: 'The passkeys that can be used; empty for any.' }),
  }),
);
export type PasskeyRequestOptions = Static<typeof PasskeyRequestOptions>;

export const ContinuedSession = named(
  'ContinuedSession',
  'Your session under its new id, in which a second factor was shown. The old one has ended.',
  object({
    token: Type.String({ description: 'Returned once.' }),
    token_id: id('token'),
    expires_at: timestampText,
    user_id: id('user'),
    tenant_id: id('tenant'),
    mfa_at: timestampText,
  }),
);
export type ContinuedSession = Static<typeof ContinuedSession>;

export const passkeyName = lineOfText(
  { minLength: 1, maxLength: 64 },
  'What you call it, such as the device it is on.',
);

export const Passkey = named(
  'Passkey',
  'A passkey of yours.',
  object({
    id: id('passkey'),
    name: Type.String({ description: 'What you call it.' }),
    is_synced: Type.Boolean({ description: 'Whether it can be copied between devices of the person.' }),
    transports: Type.Array(Type.String(), { description: 'How browsers reach it, such as internal, hybrid or usb.' }),
    created_at: timestampText,
    last_used_at: nullable(timestampText),
    opens_fortress_from: timestampText,
  }),
);
export type Passkey = Static<typeof Passkey>;
