import { useLoaded } from '../app/loading.ts';
import { WhenLoaded } from '../ui/notice.tsx';
import { loadSecrets, SecretTree } from './secrets.tsx';
import { vaultTexts as texts } from './texts.ts';

/** The other secrets of the vault, beside the page of one of them. */
export default function SecretsBeside({ vault, current }: { vault: string; current: string }) {
  const secrets = useLoaded((signal) => loadSecrets(vault, false, signal), [vault]);
  return (
    <aside aria-label={texts.beside}>
      <WhenLoaded of={secrets}>
        {(list) => (
          <SecretTree
            vault={vault}
            secrets={list}
            isDeleted={false}
            hasValues={false}
            mayRestore={false}
            current={current}
            onChanged={secrets.reload}
          />
        )}
      </WhenLoaded>
    </aside>
  );
}
