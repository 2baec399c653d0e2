#!/bin/sh
# Sell something: make a transaction, show the payment code, wait for the payment.
#
#     ./sell.sh 12.50 0244124567
#     ./sell.sh 12.50 0244124567 --sandbox    test data; pay it with `momo simulate payment`
#
# Exits with 0 when it is paid, otherwise with momo's exit code (`momo help exit-codes`).
set -eu

amount=$1
phone=$2
shift 2

# `-o id` prints only the reference, for the script; the code is for the customer.
reference=$(momo init "$amount" --phone "$phone" --for "sale at the counter" -o id "$@")
code=$(momo tx show "$reference" --get data.svc_code)
echo "Type this code as the reference: $code"

# Wait for at most ten minutes; the exit code tells the outcome.
momo tx wait "$reference" --timeout 10m --quiet > /dev/null
echo "Paid: $(momo tx show "$reference" --get data.actual_amount) for $reference"
