import type { PageProps } from '../app/page.ts';
import { loadSecretPage } from '../secrets/index.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useIsWide } from '../ui/wide.ts';
import VaultList from './list.tsx';

const Vault = lazyPart(() => import('./page.tsx'));
const Secret = lazyPart(loadSecretPage);
const SecretsBeside = lazyPart(() => import('./secrets-beside.tsx'));

export default function VaultsPage({ rest }: PageProps) {
  const isWide = useIsWide();
  const [vault, part, ...path] = rest;
  if (vault === undefined) return <VaultList />;
  if (part !== 'secret' || path.length === 0) return <Vault key={vault} vault={vault} />;
  const secret = <Secret key={rest.join('/')} vault={vault} path={path.join('/')} />;
  if (!isWide) return secret;
  return (
    <div class="beside">
      <SecretsBeside key={vault} vault={vault} current={path.join('/')} />
      <div>{secret}</div>
    </div>
  );
}
