// Facts that recordings of Azure show, as far as this SDK sees them.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { BlobSASPermissions } from '@azure/storage-blob';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';

let container;
before(async () => {
  container = await azure.newContainer();
});

const newName = () => azure.uniqueName('blob');

test('a search answers with the tags that it names', async () => {
  const key = `k${Date.now()}`;
  const blob = await azure.newBlob(container, newName(), 'x', { tags: { [key]: '1', other: '2' } });
  const [found] = await azure.collect(azure.service.findBlobsByTags(`"${key}" = '1'`));
  assert.equal(found.name, blob.name);
  assert.deepEqual(found.tags, { [key]: '1' });
  await refused(azure.collect(azure.service.findBlobsByTags(`"${key}!" = '1'`)), 400, 'InvalidQueryParameterValue');
});

test('block ids have one length', async () => {
  const blob = container.getBlockBlobClient(newName());
  await blob.stageBlock('AAAA', 'x', 1);
  await refused(blob.stageBlock('AAAAAAAA', 'x', 1), 400, 'InvalidBlobOrBlock');
});

test('a copy of a sealed blob is sealed, unless it says otherwise', async () => {
  const log = container.getAppendBlobClient(newName());
  await log.create();
  await log.seal();
  for (const [sealBlob, want] of [[undefined, true], [true, true], [false, undefined]]) {
    const copy = container.getAppendBlobClient(newName());
    await (await copy.beginCopyFromURL(log.url, { sealBlob })).pollUntilDone();
    assert.equal((await copy.getProperties()).isSealed, want, `sealBlob: ${sealBlob}`);
  }
});

test('headers that are not set are cleared, the type too', async () => {
  const blob = await azure.newBlob(container, newName(), 'x', { blobHTTPHeaders: { blobContentType: 'a/b' } });
  await blob.setHTTPHeaders({ blobCacheControl: 'no-store' });
  const properties = await blob.getProperties();
  assert.equal(properties.contentType, undefined);
  assert.equal(properties.cacheControl, 'no-store');
});

test('a source is readable by itself, or it is refused', async () => {
  const from = await azure.newBlob(container);
  const to = container.getBlockBlobClient(newName());
  await refused(to.syncUploadFromURL(from.url), 401, 'CannotVerifyCopySource');
  await refused(to.stageBlockFromURL('AAAA', from.url), 401, 'CannotVerifyCopySource');
  const url = await from.generateSasUrl({ permissions: BlobSASPermissions.parse('r'), expiresOn: new Date(Date.now() + 300_000) });
  await to.syncUploadFromURL(url);
  assert.equal(await azure.read(to), 'hello');
});

test('writes answer with a CRC-64', async () => {
  const blob = container.getBlockBlobClient(newName());
  const told = (answer) => Buffer.from(answer._response.headers.get('x-ms-content-crc64') ?? '', 'base64').length;
  assert.equal(told(await azure.write(blob, 'hello')), 8);
  await blob.stageBlock('AAAA', 'x', 1);
  assert.equal(told(await blob.commitBlockList(['AAAA'])), 8);
});

test('an archived snapshot keeps its tier', async () => {
  const blob = await azure.newBlob(container);
  const snapshot = blob.withSnapshot((await blob.createSnapshot()).snapshot);
  await snapshot.setAccessTier('Archive');
  await refused(snapshot.setAccessTier('Hot'), 409, 'BlobArchived');
  await refused(snapshot.download(), 409, 'BlobArchived');
  assert.equal(await azure.read(blob), 'hello');
});

test('errors have Azure\'s own messages', async () => {
  const error = await refused(container.getBlobClient(newName()).getTags(), 404, 'BlobNotFound');
  assert.match(error.message, /^The specified blob does not exist\.\nRequestId:[0-9a-f-]{36}\nTime:\S+Z$/);
});

test('the main port serves any account, and a container lease without restype', async () => {
  const box = `${process.env.LEASEHOLD_API_URL}/blob/anyaccount/${azure.uniqueName()}`;
  const put = async (path, headers = {}, body = undefined) => (await fetch(box + path, { method: 'PUT', headers, body })).status;
  assert.equal(await put('?restype=container'), 201);
  assert.equal(await put('/note.txt', {}, 'a note'), 201);
  assert.equal(await put('?comp=lease', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' }), 201);
  const refusal = await fetch(`${box}?restype=container`, { method: 'DELETE' });
  assert.equal(`${refusal.status} ${refusal.headers.get('x-ms-error-code')}`, '412 LeaseIdMissing');
});
