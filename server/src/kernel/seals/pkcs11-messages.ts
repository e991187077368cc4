/** What the process that holds the module is told, and what it answers. */
export interface Pkcs11Setup {
  readonly modulePath: string;
  /** Folder of a built `pkcs11js`, or null for the installed package. */
  readonly bindingFolder: string | null;
  readonly token: string | null;
  readonly serial: string | null;
  readonly slotId: number | null;
  readonly object: string | null;
  readonly id: Buffer | null;
  readonly pin: string;
}

export interface Pkcs11Request {
  readonly number: number;
  readonly action: 'wrap' | 'unwrap';
  readonly bytes: Uint8Array;
  readonly associatedData: Uint8Array;
}

export type Pkcs11Answer =
  | { readonly number: number; readonly bytes: Uint8Array }
  /** A code of PKCS #11, or one of `OwnCode`. */
  | { readonly number: number; readonly code: string };

export type OwnCode = 'NO_BINDING' | 'NO_MODULE' | 'NO_TOKEN' | 'NO_KEY' | 'AMBIGUOUS' | 'WRONG' | 'FAULT';
