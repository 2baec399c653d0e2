// Five calls with the generated client, in the sandbox of a running daemon: MOMO_API and MOMO_API_KEY.
import { client } from "./client/client.gen";
import {
  getTransactionByCode,
  initializeTransaction,
  listDeadLetters,
  listTransactions,
  makeTestPayment,
} from "./client/sdk.gen";

async function main(): Promise<void> {
  client.setConfig({ baseUrl: process.env.MOMO_API, auth: process.env.MOMO_API_KEY });
  const body = { amount: "12.50", phone_number: "0244765432", client_reference: "order-7" };
  const made = await initializeTransaction({ body, throwOnError: true });
  const { reference, svc_code } = made.data.data;
  const paid = await makeTestPayment({ body: { reference }, throwOnError: true });
  const found = await getTransactionByCode({ path: { svc_code: svc_code! }, throwOnError: true });
  const query = { status: "SUCCESS", per_page: 10 } as const;
  const list = await listTransactions({ query, throwOnError: true });
  const letters = await listDeadLetters({ query: { include_replayed: true } });
  const refused = await getTransactionByCode({ path: { svc_code: "ZZZZZZ" } });
  console.log(
    JSON.stringify({
      reference,
      paid: paid.data.data.transaction?.status,
      status: found.data.data.status,
      amount: found.data.data.actual_amount,
      listed: list.data.data.map((each) => each.reference),
      dead_letters: letters.data?.data.length,
      refused: refused.error?.error.code,
    }),
  );
}

void main();
