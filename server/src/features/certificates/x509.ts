// The library below resolves its parts by reflection metadata and refuses to load without it.
import 'reflect-metadata';
import { createHash, randomBytes } from 'node:crypto';
import { AsnConvert } from '@peculiar/asn1-schema';
import {
  CRLNumber,
  GeneralName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ce_cRLNumber,
  id_ce_nameConstraints,
  NameConstraints,
} from '@peculiar/asn1-x509';
import { Extension } from '@peculiar/x509';
import { OWN_DOMAIN } from './names.ts';

export * from '@peculiar/x509';

export const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
export const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';

export const KEY_ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const;
export const SIGNING_ALGORITHM = { name: 'ECDSA', hash: 'SHA-256' } as const;

const SERIAL_BYTES = 16;
const KEY_ID_BYTES = 20;

/** 126 random bits in 128: the first byte keeps the number positive and of fixed length, so that it has one spelling. */
export function newSerial(): string {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x40;
  return bytes.toString('hex');
}

/**
 * The first 160 bits of the SHA-256 of the SubjectPublicKeyInfo. Any unique value would do (RFC 5280, 4.2.1.2): method (1) of RFC 7093 hashes the bits
 * of the key alone, and method (4) keeps the whole hash.
 */
export function keyIdOf(spki: Uint8Array): string {
  return createHash('sha256').update(spki).digest().subarray(0, KEY_ID_BYTES).toString('hex');
}

export function thumbprintOf(der: Uint8Array): string {
  return createHash('sha256').update(der).digest('base64url');
}

export function pemOf(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** Times in certificates are whole seconds. */
export function floorToSecond(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}

/**
 * Lets a tenant's authority sign for no host name and no address, so that a stolen key cannot be used to impersonate a server to clients that trust
 * our root. Java cannot read a constraint that excludes every host name by an empty one, so the only permitted name is one that no server has. URIs
 * are not constrained, because rustls and pyca refuse every URI under any such constraint.
 */
export function noServerConstraints(): Extension {
  const subtrees = (...names: Partial<GeneralName>[]) =>
    new GeneralSubtrees(names.map((name) => new GeneralSubtree({ base: new GeneralName(name) })));
  const constraints = new NameConstraints({
    permittedSubtrees: subtrees({ dNSName: OWN_DOMAIN }, { rfc822Name: OWN_DOMAIN }),
    excludedSubtrees: subtrees({ iPAddress: '0.0.0.0/0' }, { iPAddress: '::/0' }),
  });
  return new Extension(id_ce_nameConstraints, true, AsnConvert.serialize(constraints));
}

export function crlNumber(number: number): Extension {
  return new Extension(id_ce_cRLNumber, false, AsnConvert.serialize(new CRLNumber(number)));
}
