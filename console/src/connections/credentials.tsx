import { Button } from '../ui/button.tsx';
import { copyForAWhile } from '../ui/clipboard.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Notice } from '../ui/notice.tsx';
import { saveFile } from '../ui/save-file.ts';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { fileNameOf } from './data.ts';
import { credentialsTexts as texts } from './texts.ts';

/** What the service shows once, when a connection is created or rotated. */
export interface Credentials {
  readonly id: number;
  readonly name: string;
  readonly client_id: string;
  readonly client_secret: string | null;
  readonly certificate: string | null;
  readonly private_key: string | null;
  readonly ca_chain: string | null;
  readonly mtls_required?: boolean;
  readonly former_valid_until?: string | null;
}

export default function ConnectionCredentials({
  credentials,
  onClose,
}: {
  credentials: Credentials;
  onClose: () => void;
}) {
  const { name, client_id, client_secret, certificate, private_key, ca_chain } = credentials;
  const file = fileNameOf(name);
  const isCertificateRequired = credentials.mtls_required === true;
  const everything = Object.fromEntries(
    Object.entries({ client_id, client_secret, certificate, private_key, ca_chain: certificate && ca_chain }).filter(
      ([, value]) => value !== null,
    ),
  );
  return (
    <Dialog title={texts.title(name)} isWide isShownOnce onClose={onClose}>
      <Notice kind="warning">{shared.shownOnce}</Notice>
      <p>{isCertificateRequired || client_secret === null ? texts.text : texts.secretSuffices}</p>
      <One label={texts.clientId} value={client_id} />
      <One label={texts.clientSecret} value={client_secret} />
      {certificate === null ? null : (
        <details open={isCertificateRequired || client_secret === null}>
          <summary>{texts.files}</summary>
          <div class="stack">
            {isCertificateRequired ? null : <p class="soft">{texts.filesOptional}</p>}
            <One label={texts.certificate} value={certificate} fileName={`${file}.crt`} />
            <One label={texts.privateKey} value={private_key} fileName={`${file}.key`} />
            <One label={texts.caChain} value={ca_chain} fileName={`${file}-ca.pem`} />
          </div>
        </details>
      )}
      {credentials.former_valid_until ? (
        <p class="soft">
          {texts.validUntil} <Time at={credentials.former_valid_until} />
        </p>
      ) : null}
      <div class="dialog-foot">
        <Button onClick={() => saveFile(`${file}-credentials.json`, `${JSON.stringify(everything, null, 2)}\n`)}>
          {texts.downloadAll}
        </Button>
        <Button kind="primary" onClick={onClose}>
          {shared.stored}
        </Button>
      </div>
    </Dialog>
  );
}

/** A file is offered as one, and not shown: nobody reads a key. */
function One({ label, value, fileName }: { label: string; value: string | null; fileName?: string }) {
  if (value === null) return null;
  return (
    <div class="once">
      <strong>{label}</strong>
      <div class="row">
        {fileName === undefined ? (
          <output class="value-text" aria-label={label}>
            {value}
          </output>
        ) : (
          <Button label={`${shared.download} ${fileName}`} onClick={() => saveFile(fileName, value)}>
            {shared.download} {fileName}
          </Button>
        )}
        <Button label={`${shared.copyName}: ${label}`} onClick={() => void copyForAWhile(value)}>
          {shared.copyName}
        </Button>
      </div>
    </div>
  );
}
