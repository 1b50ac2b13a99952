// Shared access signatures: what they allow, and what they refuse.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  BlobSASPermissions,
  ContainerSASPermissions,
  SASProtocol,
  generateAccountSASQueryParameters,
  generateBlobSASQueryParameters,
} from '@azure/storage-blob';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';

const minute = 60_000;
const inMinutes = (n) => new Date(Date.now() + n * minute);

/** A service client with an account SAS: everything, but for what a test takes away. */
function accountSAS({ permissions = 'rwdlacup', services = 'b', types = 'sco', ...rest } = {}) {
  const signature = generateAccountSASQueryParameters(
    {
      expiresOn: inMinutes(5),
      permissions: AccountSASPermissions.parse(permissions),
      services: AccountSASServices.parse(services).toString(),
      resourceTypes: AccountSASResourceTypes.parse(types).toString(),
      ...rest,
    },
    azure.credential,
  );
  return azure.clientWithoutKey(`${azure.blobURL}?${signature}`);
}

/** The signature of a service SAS for a container, or for a blob in it. */
function serviceSAS(container, { permissions, expiresOn = inMinutes(5), ...rest }) {
  const parse = rest.blobName ? BlobSASPermissions.parse : ContainerSASPermissions.parse;
  const values = { containerName: container.containerName, permissions: permissions && parse(permissions), expiresOn, ...rest };
  return generateBlobSASQueryParameters(values, azure.credential).toString();
}

const withSAS = (container, values) =>
  azure.clientWithoutKey(`${azure.blobURL}?${serviceSAS(container, values)}`).getContainerClient(container.containerName);

test('an account SAS stands for the key', async () => {
  const service = accountSAS();
  const container = service.getContainerClient(azure.uniqueName());
  await container.create();
  const blob = await azure.newBlob(container, 'a', 'signed');
  assert.equal(await azure.read(blob), 'signed');
  assert.deepEqual((await azure.collect(container.listBlobsFlat())).map((b) => b.name), ['a']);
  assert.ok((await azure.collect(service.listContainers())).some((c) => c.name === container.containerName));
  await blob.delete();
});

test('an account SAS of an older version is understood', async () => {
  const container = await azure.newContainer();
  await azure.newBlob(container, 'a', 'old');
  for (const version of ['2019-12-12', '2020-10-02', '2020-12-06', '2021-12-02']) {
    const blob = accountSAS({ version }).getContainerClient(container.containerName).getBlobClient('a');
    assert.equal(await azure.read(blob), 'old', version);
  }
});

test('an account SAS allows what it says, and no more', async () => {
  const container = await azure.newContainer();
  await azure.newBlob(container, 'a', 'kept');
  const download = (s) => s.getContainerClient(container.containerName).getBlobClient('a').download();
  const overwrite = (s) => azure.newBlob(s.getContainerClient(container.containerName), 'a', 'lost');
  const list = (s) => azure.collect(s.getContainerClient(container.containerName).listBlobsFlat());
  for (const [what, values, call, code] of [
    ['no permission to read', { permissions: 'wl' }, download, 'AuthorizationPermissionMismatch'],
    ['no permission to write', { permissions: 'rl' }, overwrite, 'AuthorizationPermissionMismatch'],
    ['no permission to list', { permissions: 'rw' }, list, 'AuthorizationPermissionMismatch'],
    ['not for objects', { types: 'sc' }, download, 'AuthorizationResourceTypeMismatch'],
    ['not for containers', { types: 'so' }, list, 'AuthorizationResourceTypeMismatch'],
    ['another service', { services: 'q' }, download, 'AuthorizationServiceMismatch'],
    ['over', { startsOn: inMinutes(-10), expiresOn: inMinutes(-5) }, download, 'AuthenticationFailed'],
    ['not yet begun', { startsOn: inMinutes(30), expiresOn: inMinutes(40) }, download, 'AuthenticationFailed'],
    ['https only', { protocol: SASProtocol.Https }, download, 'AuthorizationProtocolMismatch'],
    ['another address', { ipRange: { start: '198.51.100.7' } }, download, 'AuthorizationSourceIPMismatch'],
  ]) {
    await refused(call(accountSAS(values)), 403, code, what);
  }
  assert.equal(await azure.read(container.getBlobClient('a')), 'kept');
  const here = accountSAS({ ipRange: { start: '127.0.0.1', end: '127.0.0.9' }, protocol: SASProtocol.HttpsAndHttp });
  await download(here);
});

test('a SAS that was tampered with is refused', async () => {
  const container = await azure.newContainer();
  await azure.newBlob(container, 'a', 'kept');
  const honest = serviceSAS(container, { permissions: 'r' });
  for (const forged of [honest.replace('sp=r', 'sp=rd'), honest.replace(/se=20\d\d/, 'se=2199'), honest.replace('sr=c', 'sr=b')]) {
    assert.notEqual(forged, honest);
    const blob = azure.clientWithoutKey(`${azure.blobURL}?${forged}`).getContainerClient(container.containerName).getBlobClient('a');
    await refused(blob.download(), 403, 'AuthenticationFailed', forged.replace(/sig=.*/, ''));
  }
});

test('a container SAS opens one container', async () => {
  const [mine, other] = [await azure.newContainer(), await azure.newContainer()];
  await azure.newBlob(other, 'a', 'not yours');
  const guest = withSAS(mine, { permissions: 'rcwdl' });
  const blob = await azure.newBlob(guest, 'a', 'by a guest');
  assert.equal(await azure.read(blob), 'by a guest');
  assert.equal((await azure.collect(guest.listBlobsFlat())).length, 1);
  await blob.delete();
  const stray = azure.clientWithoutKey(`${azure.blobURL}?${serviceSAS(mine, { permissions: 'rcwdl' })}`);
  await refused(stray.getContainerClient(other.containerName).getBlobClient('a').download(), 403, 'AuthenticationFailed');
});

test('a blob SAS opens one blob', async () => {
  const container = await azure.newContainer();
  for (const name of ['dir/mine', 'other']) await azure.newBlob(container, name, name);
  const guest = withSAS(container, { blobName: 'dir/mine', permissions: 'r' });
  assert.equal(await azure.read(guest.getBlobClient('dir/mine')), 'dir/mine');
  await refused(guest.getBlobClient('other').download(), 403, 'AuthenticationFailed');
  await refused(guest.getBlobClient('dir/mine').delete(), 403, 'AuthorizationPermissionMismatch');
});

test('a blob SAS with create, and no write, makes new blobs only', async () => {
  const container = await azure.newContainer();
  const guest = withSAS(container, { blobName: 'new', permissions: 'c' }).getBlockBlobClient('new');
  await azure.write(guest, 'first');
  await refused(azure.write(guest, 'second'), 403, 'UnauthorizedBlobOverwrite');
  assert.equal(await azure.read(container.getBlobClient('new')), 'first');
});

test('a blob SAS says which headers the answer has', async () => {
  const container = await azure.newContainer();
  await azure.newBlob(container, 'page', '<p>', { blobHTTPHeaders: { blobContentType: 'text/plain' } });
  const guest = withSAS(container, {
    blobName: 'page', permissions: 'r', contentType: 'text/html', cacheControl: 'no-store', contentDisposition: 'attachment; filename="a.html"',
  });
  const answer = await guest.getBlobClient('page').download();
  assert.equal(answer.contentType, 'text/html');
  assert.equal(answer.cacheControl, 'no-store');
  assert.equal(answer.contentDisposition, 'attachment; filename="a.html"');
});

test('a snapshot SAS opens one snapshot', async () => {
  const container = await azure.newContainer();
  const blob = await azure.newBlob(container, 'doc', 'then');
  const { snapshot } = await blob.createSnapshot();
  await azure.write(blob, 'now');
  const { snapshot: later } = await blob.createSnapshot();
  const guest = withSAS(container, { blobName: 'doc', snapshotTime: snapshot, permissions: 'r' }).getBlobClient('doc');
  assert.equal(await azure.read(guest.withSnapshot(snapshot)), 'then');
  await refused(guest.download(), 403, 'AuthenticationFailed', 'the base');
  await refused(guest.withSnapshot(later).download(), 403, 'AuthenticationFailed', 'another snapshot');
});

test('a stored access policy can be revoked', async () => {
  const container = await azure.newContainer();
  await azure.newBlob(container, 'a', 'lent');
  const policy = { expiresOn: inMinutes(5), startsOn: inMinutes(-5), permissions: 'r' };
  await container.setAccessPolicy(undefined, [{ id: 'readers', accessPolicy: policy }]);
  const guest = withSAS(container, { identifier: 'readers', expiresOn: null });
  assert.equal(await azure.read(guest.getBlobClient('a')), 'lent');
  await refused(guest.getBlobClient('a').delete(), 403, 'AuthorizationPermissionMismatch');
  const both = withSAS(container, { identifier: 'readers', expiresOn: inMinutes(1) });
  await refused(both.getBlobClient('a').download(), 403, 'AuthenticationFailed', 'an end that the policy states already');
  await container.setAccessPolicy(undefined, []);
  await refused(guest.getBlobClient('a').download(), 403, 'AuthenticationFailed');
});
