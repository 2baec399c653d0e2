<?php
// A web shop that sells one thing for mobile money: plain PHP, one file of orders.
//
//   export MOMO_URL=http://127.0.0.1:8420 MOMO_API_KEY=svc_live_sk_... MOMO_WEBHOOK_SECRET=whsec_...
//   export SHOP_PHONE='024 412 4567' SHOP_DATA=/var/lib/shop/orders.json
//   php -S 127.0.0.1:8000 index.php
//
// The page of an order asks momo for its state. The webhook is what delivers: it arrives also when the customer has closed the
// page. A real shop keeps its orders in its database, with a UNIQUE key on webhook_id.

const PRICE = '25.00';
const SORRY = 'We cannot take an order at this moment. Please try again.';

class Refused extends Exception {}

/** Change the orders under a lock; return what the change returns. */
function with_orders(callable $change): mixed {
    $file = fopen(getenv('SHOP_DATA') ?: 'orders.json', 'c+');
    flock($file, LOCK_EX);
    $data = json_decode(stream_get_contents($file) ?: '{"orders":{},"seen":{}}', true);
    $result = $change($data);
    rewind($file);
    ftruncate($file, 0);
    fwrite($file, json_encode($data));
    fclose($file);
    return $result;
}

/** Call momo's API. A repeat with the same key makes no second transaction. */
function momo(string $path, ?array $body = null, string $key = ''): array {
    $headers = ['Authorization: Bearer ' . getenv('MOMO_API_KEY')];
    if ($body !== null) array_push($headers, 'Content-Type: application/json', "Idempotency-Key: $key");
    $answer = @file_get_contents(getenv('MOMO_URL') . $path, false, stream_context_create(['http' => [
        'method' => $body === null ? 'GET' : 'POST', 'header' => $headers, 'timeout' => 10, 'ignore_errors' => true,
        'content' => $body === null ? '' : json_encode($body),
    ]]));
    $read = json_decode((string) $answer, true);
    if ($read['success'] ?? false) return $read['data'];
    foreach ($read['error']['details'] ?? [] as $wrong) {
        if ($wrong['field'] === 'phone_number') throw new Refused("This is not a mobile money number: {$wrong['message']}.");
    }
    error_log("momo: $answer");
    throw new Refused(SORRY);
}

/** Return whether momo signed these bytes within the last five minutes. */
function verified(string $body, string $header): bool {
    if (!preg_match('/(?:^|,)t=(\d{1,12})(?:,|$)/D', $header, $sent) || abs(time() - (int) $sent[1]) > 300) return false;
    $mac = hash_hmac('sha256', "$sent[1].$body", getenv('MOMO_WEBHOOK_SECRET'));
    preg_match_all('/(?:^|,)v1=([0-9a-f]{64})(?=,|$)/D', $header, $given);
    foreach ($given[1] as $value) if (hash_equals($mac, $value)) return true;
    return false;
}

function page(int $status, string $title, string $content): void {
    http_response_code($status);
    header('Content-Type: text/html; charset=utf-8');
    echo "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
        . "<title>$title</title>$content</html>";
}

function text(mixed $value): string { return htmlspecialchars((string) $value); }

function article(int $status, string $phone = '', string $problem = ''): void {
    page($status, 'Rice', '<h1>One bag of rice, GHS ' . PRICE . '</h1>'
        . ($problem === '' ? '' : '<p role="alert">' . text($problem) . '</p>')
        . '<form method="post" action="/orders"><label>Your mobile money number <input name="phone" value="' . text($phone)
        . '" inputmode="tel" autocomplete="tel" required></label> <button>Buy</button></form>');
}

/** Return heading, content, and the seconds until the page asks again, for each state of an order. */
function state(array $found, array $order): array {
    $call = getenv('SHOP_PHONE') ? ' Please call us: ' . text(getenv('SHOP_PHONE')) . '.' : ' Please call us.';
    $came = 'We received GHS ' . text($found['actual_amount'] ?? '');
    if ($found['reversed_at'] ?? null)
        return ['The payment was taken back', "<p>The network took your payment back. Do not pay again.$call</p>", 0];
    switch ($found['status']) {
        case 'SUCCESS': return ['Paid', "<p>Thank you. $came.</p>", 0];
        case 'OVERPAID':
            return ['Paid', "<p>$came, which is more than GHS " . text($found['expected_amount']) . '. We give the rest back.</p>', 0];
        case 'PARTIAL':
            return ['Something is missing', "<p>$came of GHS " . text($found['expected_amount']) . ". Do not start again.$call</p>", 0];
        case 'MANUAL_REVIEW':
            return ['We are checking your payment', '<p>Do not pay again. This page changes by itself.</p>', 10];
        case 'EXPIRED':
        case 'CANCELLED':
            return ['This order has ended', '<p>Do not pay it any more. If you have paid:' . "$call</p><p><a href=\"/\">Order again</a></p>", 0];
        case 'PENDING':
            $numbers = '';
            foreach ($found['pay_to'] as $number)
                $numbers .= '<li>' . text(strtoupper($number['network'])) . ' <strong>' . text($number['phone_number']) . '</strong>, '
                    . text($number['account_name']) . '</li>';
            return ['Pay GHS ' . text($found['expected_amount']), "<p>Send the money to one of our numbers:</p><ul>$numbers</ul>"
                . '<p>Type this code as the reference: <strong>' . text($found['svc_code']) . '</strong></p><p><a href="'
                . text($order['checkout_url']) . '">Every step, for your network</a>. This page shows when the payment has arrived.</p>', 5];
        default:
            return ['One moment', '<p>We cannot see your payment now. Do not pay again. This page changes by itself.</p>', 10];
    }
}

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$post = $_SERVER['REQUEST_METHOD'] === 'POST';
if ($path === '/' && !$post) {
    article(200);
} elseif ($path === '/orders' && $post) {
    $number = bin2hex(random_bytes(16));
    $phone = (string) ($_POST['phone'] ?? '');
    try {
        $made = momo('/v1/transactions/initialize', ['amount' => PRICE, 'phone_number' => $phone, 'description' => 'One bag of rice',
            'client_reference' => $number, 'redirect_url' => "http://{$_SERVER['HTTP_HOST']}/orders/$number"], $number);
    } catch (Refused $refused) {
        article(422, $phone, $refused->getMessage());
        return;
    }
    with_orders(function (array &$data) use ($number, $made) {
        $data['orders'][$number] = ['reference' => $made['reference'], 'checkout_url' => $made['checkout_url'],
            'delivered' => false, 'reversed' => false];
    });
    header("Location: /orders/$number", true, 302);
} elseif (preg_match('#^/orders/([0-9a-f]{32})$#D', $path, $parts) && !$post) {
    $order = with_orders(fn (array &$data) => $data['orders'][$parts[1]] ?? null);
    if ($order === null) {
        page(404, 'No order', '<h1>There is no such order</h1>');
        return;
    }
    try {
        $found = momo("/v1/transactions/{$order['reference']}");
    } catch (Refused) {
        $found = ['status' => 'UNKNOWN'];
    }
    [$heading, $content, $again] = state($found, $order);
    if ($again) header("Refresh: $again");
    page(200, 'Your order', "<h1>$heading</h1>$content");
} elseif ($path === '/momo' && $post) {
    $body = file_get_contents('php://input');
    if (!verified($body, $_SERVER['HTTP_X_SVC_SIGNATURE'] ?? '')) {
        http_response_code(400);
        return;
    }
    $event = json_decode($body, true);
    with_orders(function (array &$data) use ($event) {
        if (isset($data['seen'][$event['webhook_id']])) return;
        $data['seen'][$event['webhook_id']] = true;
        foreach ($data['orders'] as &$order) {
            if ($order['reference'] !== $event['data']['reference']) continue;
            if (($event['data']['reversed_at'] ?? null) || $event['type'] === 'transaction.reversed') $order['reversed'] = true;
            elseif (in_array($event['data']['status'], ['SUCCESS', 'OVERPAID'], true) && !$order['reversed']) $order['delivered'] = true;
        }
    });
    http_response_code(204);
} else {
    page(404, 'Not found', '<h1>There is no such page</h1>');
}
