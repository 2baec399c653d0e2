<?php
/**
 * Receive momo's webhooks with plain PHP: verify, store once, answer quickly.
 *
 *     MOMO_WEBHOOK_SECRET=whsec_... php -S 127.0.0.1:8000 receiver.php
 *
 * Needs no extension. On a real server put it behind Apache or nginx with TLS: momo sends to https addresses only.
 */

const TOLERANCE_S = 300;

function verified(string $body, string $header, string $secret): bool
{
    $sent = null;
    $signatures = [];
    foreach (explode(',', $header) as $field) {
        [$name, $value] = array_pad(explode('=', $field, 2), 2, '');
        if ($name === 't') {
            $sent = $value;
        } elseif ($name === 'v1') {
            $signatures[] = $value;
        }
    }
    if ($sent === null || !ctype_digit($sent) || abs(time() - (int) $sent) > TOLERANCE_S) {
        return false;
    }
    $expected = hash_hmac('sha256', $sent . '.' . $body, $secret);
    foreach ($signatures as $signature) {
        if (hash_equals($expected, $signature)) {
            return true;
        }
    }
    return false;
}

/**
 * Store an event in its own file; return false if it is stored already.
 *
 * Write it under another name first: link() fails if the name exists, and a crash leaves no partial file.
 */
function store(string $folder, string $webhookId, string $body): bool
{
    if (!is_dir($folder)) {
        mkdir($folder, 0700, true);
    }
    $draft = tempnam($folder, 'new');
    $file = fopen($draft, 'w');
    fwrite($file, $body);
    fsync($file);
    fclose($file);
    $new = @link($draft, $folder . '/' . $webhookId . '.json');
    unlink($draft);
    return $new;
}

$secret = getenv('MOMO_WEBHOOK_SECRET');
$folder = getenv('EVENTS') ?: __DIR__ . '/events';
$body = file_get_contents('php://input');
$good = verified($body, $_SERVER['HTTP_X_SVC_SIGNATURE'] ?? '', $secret)
    || verified($body, $_SERVER['HTTP_X_SVC_SIGNATURE_PREVIOUS'] ?? '', $secret);
if (!$good) {
    http_response_code(400);
    return;
}
$event = json_decode($body, true);
if (!preg_match('/^ocl_[0-9a-z]{24}$/', $event['webhook_id'] ?? '')) {
    http_response_code(400);
    return;
}
store($folder, $event['webhook_id'], $body);
http_response_code(204);
