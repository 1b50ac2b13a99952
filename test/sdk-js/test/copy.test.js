// Copies: between blobs, containers and types, and from a URL.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, test } from 'node:test';
import { BlobSASPermissions } from '@azure/storage-blob';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';
import { A } from '../lib/leases.js';

let container;
before(async () => {
  container = await azure.newContainer();
});

/** A blob and a URL by which anybody may read it. */
async function source(text = 'original', options = { metadata: { from: 'source' }, blobHTTPHeaders: { blobContentType: 'text/plain' } }) {
  const blob = await azure.newBlob(container, azure.uniqueName('source'), text, options);
  const url = await blob.generateSasUrl({ permissions: BlobSASPermissions.parse('r'), expiresOn: new Date(Date.now() + 300_000) });
  return { blob, url };
}

const target = () => container.getBlockBlobClient(azure.uniqueName('target'));
const copied = async (to, url, options) => (await to.beginCopyFromURL(url, options)).pollUntilDone();

test('a copy has the content, headers and metadata of its source', async () => {
  const { blob, url } = await source();
  const to = target();
  const answer = await copied(to, blob.url);
  assert.equal(answer.copyStatus, 'success');
  assert.ok(answer.copyId);
  assert.equal(await azure.read(to), 'original');
  const properties = await to.getProperties();
  assert.equal(properties.contentType, 'text/plain');
  assert.deepEqual(properties.metadata, { from: 'source' });
  assert.equal(properties.copyStatus, 'success');
  assert.equal(properties.copyId, answer.copyId);
  assert.equal(properties.copyProgress, '8/8');
  assert.ok(properties.copySource.startsWith(url.split('?')[0]));
});

test('a copy may be given metadata and tags of its own', async () => {
  const { url } = await source();
  const to = target();
  await copied(to, url, { metadata: { from: 'me' }, tags: { colour: 'blue' } });
  assert.deepEqual((await to.getProperties()).metadata, { from: 'me' });
  assert.deepEqual((await to.getTags()).tags, { colour: 'blue' });
});

test('a copy outlives its source', async () => {
  const { blob, url } = await source('kept');
  const to = target();
  await to.syncCopyFromURL(url);
  await blob.delete();
  assert.equal(await azure.read(to), 'kept');
});

test('a copy replaces what was there, in its own container or another', async () => {
  const { url } = await source('new');
  for (const there of [container, await azure.newContainer()]) {
    const to = await azure.newBlob(there, 'existing', 'old', { metadata: { old: 'yes' } });
    const answer = await to.syncCopyFromURL(url);
    assert.equal(answer.copyStatus, 'success');
    assert.equal(await azure.read(to), 'new');
    assert.deepEqual((await to.getProperties()).metadata, { from: 'source' });
  }
});

test('a snapshot is a source', async () => {
  const { blob } = await source('then');
  const { snapshot } = await blob.createSnapshot();
  await azure.write(blob, 'now');
  const to = target();
  await copied(to, blob.withSnapshot(snapshot).url);
  assert.equal(await azure.read(to), 'then');
});

test('copies check conditions on both ends', async () => {
  const { blob, url } = await source();
  const to = await azure.newBlob(container, azure.uniqueName('target'), 'old');
  const { etag } = await blob.getProperties();
  await refused(copied(to, url, { sourceConditions: { ifMatch: '"0xOTHER"' } }), 412, 'SourceConditionNotMet');
  await refused(copied(to, url, { conditions: { ifMatch: '"0xOTHER"' } }), 412, 'ConditionNotMet');
  assert.equal(await azure.read(to), 'old');
  await copied(to, url, { sourceConditions: { ifMatch: etag }, conditions: { ifMatch: (await to.getProperties()).etag } });
  assert.equal(await azure.read(to), 'original');
});

test('a leased target is copied to by its holder only', async () => {
  const { url } = await source();
  const to = await azure.newBlob(container, azure.uniqueName('target'), 'old');
  await to.getBlobLeaseClient(A).acquireLease(60);
  await refused(copied(to, url), 412, 'LeaseIdMissing');
  assert.equal(await azure.read(to), 'old');
  await copied(to, url, { conditions: { leaseId: A } });
  assert.equal(await azure.read(to), 'original');
  assert.equal((await to.getProperties()).leaseState, 'leased', 'a copy ended the lease');
});

test('what is not there cannot be copied', async () => {
  const nowhere = container.getBlobClient('nowhere').url;
  const error = await copied(target(), nowhere).then(() => assert.fail('nothing was copied'), (e) => e);
  assert.equal(error.statusCode, 404);
});

test('a copy that is done cannot be stopped', async () => {
  const { url } = await source();
  const to = target();
  const { copyId } = await copied(to, url);
  await refused(to.abortCopyFromURL(copyId), 409, 'NoPendingCopyOperation');
});

test('blobs and blocks are put from a URL', async () => {
  const { url } = await source('0123456789');
  const whole = target();
  await whole.syncUploadFromURL(url, { metadata: { put: 'from a URL' } });
  assert.equal(await azure.read(whole), '0123456789');
  assert.equal((await whole.getProperties()).metadata.put, 'from a URL');
  const built = target();
  const [a, b] = ['a', 'b'].map((s) => Buffer.from(s).toString('base64'));
  await built.stageBlockFromURL(a, url, 0, 3);
  await built.stageBlockFromURL(b, url, 7, 3, { sourceContentMD5: createHash('md5').update('789').digest() });
  await built.commitBlockList([a, b]);
  assert.equal(await azure.read(built), '012789');
});
