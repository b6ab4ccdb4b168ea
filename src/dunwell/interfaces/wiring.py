"""Build the web application from the routes of all interfaces, and list the loops of the worker.
Only this module imports all interfaces.

Each process opens what it needs here: the web process its application, the worker its loops.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from starlette.applications import Starlette

from dunwell.accounts.installation.current_installation import (
    CurrentInstallation,
    open_current_installation,
)
from dunwell.adapters.bank_connections import BankConnectionAdapters, open_bank_connections
from dunwell.adapters.bank_statements import FETCH_SECONDS, StatementFetcher
from dunwell.adapters.channels.callbacks import channel_callback_routes
from dunwell.adapters.channels.outbox.channel import report_late_failures
from dunwell.adapters.channels.outbox.pages import outbox_routes
from dunwell.adapters.delivery_providers import DeliveryProviderAdapters, open_delivery_providers
from dunwell.adapters.identity_providers import open_identity_providers
from dunwell.adapters.installed import build_channel_adapters
from dunwell.adapters.mail.mailboxes import MAILBOX_SECONDS, Mailboxes
from dunwell.adapters.mail.receive_mail import MailParser
from dunwell.adapters.payment_providers import open_payment_providers
from dunwell.adapters.payments.callbacks import callback_routes
from dunwell.adapters.payments.sandbox.notification_sender import (
    NOTIFICATION_SECONDS,
    open_notification_sender,
)
from dunwell.adapters.payments.sandbox.routes import sandbox_provider_routes
from dunwell.cases.direct_debit.files.deliver_files import DELIVER_SECONDS, deliver_debit_files
from dunwell.cases.direct_debit.plan_collections import PLAN_SECONDS, plan_collections
from dunwell.cases.direct_debit.providers.collect_debits import COLLECT_SECONDS, open_debit_orders
from dunwell.cases.direct_debit.providers.settle_mandates import (
    MANDATE_SECONDS,
    open_mandate_checks,
)
from dunwell.cases.modalities.sweep_modalities import MODALITY_SECONDS, sweep_modalities
from dunwell.cases.payments.provider import PaymentProviders
from dunwell.cases.payments.refunds.send_refunds import REFUND_SECONDS, open_refund_orders
from dunwell.cases.payments.requests.check_payments import PAYMENT_SECONDS, open_payment_checks
from dunwell.cases.statements.import_statements import IMPORT_SECONDS, import_next_file
from dunwell.cases.statements.matches.match_sets import MATCH_SECONDS, match_all
from dunwell.cases.statements.payouts.record_payouts import PAYOUT_SECONDS, fetch_payouts
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.escalation.reports.delivery_reports import (
    QUERY_SECONDS,
    REPORTS_SECONDS,
    process_reports,
    query_unknown_outcomes,
    sweep_old_reports,
)
from dunwell.contact.messages.ledger.seal_ledger import SEAL_SECONDS, seal_ledger
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.notices.notice_outcomes import sweep_notices
from dunwell.contact.notices.sender import NoticeSender
from dunwell.contact.sending.adapters import Adapters
from dunwell.contact.sending.batches.read_statuses import STATUS_SECONDS, StatusFileReader
from dunwell.contact.sending.batches.release_batches import BATCH_SECONDS, BatchReleaser
from dunwell.contact.sending.receive_sms import sweep_old_sms
from dunwell.core.claims.claim_holds import expire_holds
from dunwell.core.claims.searching.search_claims import (
    INDEX_INTERVAL_SECONDS,
    index_claims,
)
from dunwell.core.events.webhooks.delivery import WebhookSender, open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import WebhookDispatcher
from dunwell.core.files.inspection import Inspector
from dunwell.core.files.pictures import PagePictures
from dunwell.core.files.storage import SealedFiles
from dunwell.interfaces.api.app import build_app, build_operators_app
from dunwell.interfaces.api.edge import build_server_refusal_renderer
from dunwell.interfaces.api.metrics import RequestMetrics
from dunwell.interfaces.landing.application import build_site, list_routes
from dunwell.interfaces.landing.disputes.notify_overdue import (
    OVERDUE_SECONDS,
    notify_overdue_disputes,
)
from dunwell.interfaces.landing.notifications.send_occasions import (
    OCCASION_POLL_SECONDS,
    send_due_occasions,
)
from dunwell.interfaces.landing.notifications.writer import NoticeWriter
from dunwell.interfaces.landing.sign_in.requested_links import POLL_SECONDS, send_requested_links
from dunwell.interfaces.landing.sweep_landing import delete_expired_debtor_data
from dunwell.interfaces.portal.application import build_portal_routes
from dunwell.interfaces.portal.texts.routes_preview import PreviewPrinter
from dunwell.interfaces.portal.web.site import PortalServices
from dunwell.interfaces.worker.housekeeping import HOUSEKEEPING_SECONDS, Housekeeping
from dunwell.interfaces.worker.loops import Loop, record_success
from dunwell.operations.alerts.backlog_metrics import BACKLOG_SECONDS, BacklogMetrics
from dunwell.operations.alerts.check_alerts import (
    CHECK_SECONDS,
    check_for_alerts,
    report_clock_difference,
)
from dunwell.operations.alerts.endpoint_alerts import WATCH_SECONDS, EndpointAlerts
from dunwell.operations.alerts.send_alert_emails import EMAIL_IDLE_SECONDS, send_alert_emails
from dunwell.operations.jobs.claim_jobs import JOB_SECONDS, run_jobs
from dunwell.operations.jobs.previews.draft_previews import run_previews
from dunwell.operations.jobs.run_exports import run_exports
from dunwell.operations.jobs.runner import SWEEP_JOBS_SECONDS, sweep_jobs
from dunwell.operations.keys.reseal import RESEAL_IDLE_SECONDS, Resealer, list_sealed_values
from dunwell.operations.seals.seals import seal_installation
from dunwell.platform.children.document_reader import DocumentReader
from dunwell.platform.children.fair_queue import INTERACTIVE
from dunwell.platform.embedded.postgres import get_database_url
from dunwell.platform.http.multipart import UPLOADS
from dunwell.platform.http.server import ConnectionBounds
from dunwell.platform.metrics import set_build_info
from dunwell.platform.resources import Resources
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages
from dunwell.platform.watched_clock import DatabaseTime


@dataclass(frozen=True, slots=True)
class WebService:
    """What one web process serves, and the limits on its connections."""

    app: Starlette
    bounds: ConnectionBounds
    operators: "OperatorService"
    installation: CurrentInstallation


@dataclass(frozen=True, slots=True)
class OperatorService:
    """The application for operators, which has a separate address, and the limits on its
    connections."""

    app: Starlette
    bounds: ConnectionBounds


def build_operator_service(
    resources: Resources, request_metrics: RequestMetrics | None = None
) -> OperatorService:
    """Build the application for operators. `request_metrics` are those of the API if this process
    serves the API."""
    set_build_info(resources.settings.commit)
    app = build_operators_app(resources, request_metrics or RequestMetrics())
    return OperatorService(
        app, ConnectionBounds(build_server_refusal_renderer(resources), lambda _host: False)
    )


@asynccontextmanager
async def open_web(resources: Resources) -> AsyncIterator[WebService]:
    """Open the application with its child processes for files."""
    channels = build_channel_adapters(resources.settings)
    inspector, painter, documents = Inspector(), PagePictures(), DocumentReader()
    printer = LetterPrinter(1, fonts=resources.settings.fonts, limits=INTERACTIVE)
    preview_printer = PreviewPrinter(fonts=resources.settings.fonts)
    UPLOADS.use_folder(resources.settings.data_dir / "incoming")
    async with AsyncExitStack() as closing:
        enter = closing.enter_async_context
        closing.push_async_callback(inspector.close)
        closing.push_async_callback(printer.close)
        closing.push_async_callback(preview_printer.close)
        closing.push_async_callback(painter.close)
        closing.push_async_callback(documents.close)
        await enter(report_clock_difference(resources, socket.gethostname()))
        installation = await enter(open_current_installation(resources))
        identity_providers = await enter(open_identity_providers(installation))
        delivery_providers = await enter(open_delivery_providers(resources, installation))
        providers = await enter(open_payment_providers(resources, installation))
        services = PortalServices(
            painter=painter, providers=identity_providers, channels=channels,
            adapters=Adapters(channels, delivery_providers.find),
            documents=documents, preview_printer=preview_printer,
        )  # fmt: skip
        debtor_site = build_site(
            resources, providers, providers.page_sources,
            inspector=inspector, printer=printer, find_operator=installation.find_operator,
        )  # fmt: skip
        routes = [
            *outbox_routes(resources),
            *callback_routes(resources, providers),
            *channel_callback_routes(resources, installation),
            *sandbox_provider_routes(resources),
            *build_portal_routes(resources, debtor_site, services),
            *list_routes(debtor_site),
        ]
        request_metrics = RequestMetrics()
        app = build_app(
            resources, channels, inspector, routes,
            find_visitor=installation.find_visitor, request_metrics=request_metrics,
        )  # fmt: skip
        bounds = ConnectionBounds(build_server_refusal_renderer(resources), installation.is_proxy)
        yield WebService(
            app, bounds, build_operator_service(resources, request_metrics), installation
        )


@asynccontextmanager
async def open_loops(resources: Resources, stop: asyncio.Event) -> AsyncIterator[Sequence[Loop]]:
    """Open the loops that one worker runs until `stop`."""
    settings = resources.settings
    async with AsyncExitStack() as closing:
        enter = closing.enter_async_context
        await enter(report_clock_difference(resources, socket.gethostname()))
        sender = await enter(
            open_webhook_sender(allow_loopback=settings.is_development, authorities=settings.ca)
        )
        sandbox_notifications = await enter(open_notification_sender(resources))
        installation = await enter(open_current_installation(resources))
        providers = await enter(open_payment_providers(resources, installation))
        delivery_providers = await enter(open_delivery_providers(resources, installation))
        channels = build_channel_adapters(settings)
        banks = await enter(open_bank_connections(installation))
        messages = MessageDispatcher(resources, channels, find_provider=delivery_providers.find)
        notices = NoticeSender(resources, channels, find_provider=delivery_providers.find)
        writer = NoticeWriter(
            load_languages(DEBTOR_CATALOGUES), settings.public_url, installation.find_operator
        )
        resealer = Resealer(resources, list_sealed_values(settings))
        storage = SealedFiles.open(resources)
        yield [
            Loop("engine", Engine(resources).run_once),
            Loop("messages", messages.run_once, finish=messages.close),
            Loop("notices", notices.run_once, finish=notices.close),
            *_list_report_loops(resources, Adapters(channels, delivery_providers.find)),
            *_list_letter_loops(resources, delivery_providers),
            *_list_alert_loops(resources, delivery_providers),
            _build_webhook_loop(resources, sender, stop),
            Loop("holds", lambda: expire_holds(resources)),
            Loop("modalities", lambda: sweep_modalities(resources), idle_seconds=MODALITY_SECONDS),
            *_list_notification_loops(resources, writer),
            *_list_job_loops(resources, storage),
            *_list_payment_loops(resources, providers),
            *_list_debit_loops(resources, banks, providers),
            *_list_statement_loops(resources, installation),
            Loop(
                "sandbox notices", sandbox_notifications.run_once, idle_seconds=NOTIFICATION_SECONDS
            ),
            Loop("sealed values", resealer.run_once, idle_seconds=RESEAL_IDLE_SECONDS),
            *_list_ledger_loops(resources),
            *_list_sweeping_loops(resources, storage),
        ]


def list_mail_loops(
    resources: Resources, reader: MailParser, installation: CurrentInstallation
) -> Sequence[Loop]:
    """Return the loops of the process that receives e-mails."""
    mailboxes = Mailboxes(resources, reader, installation)
    return [Loop("mailboxes", mailboxes.run_once, idle_seconds=MAILBOX_SECONDS)]


def _list_report_loops(resources: Resources, adapters: Adapters) -> Sequence[Loop]:
    """Return the loops that process delivery reports, ask channels about messages whose delivery
    status is unknown, and delete old reports and incoming SMS."""
    return [
        Loop("late failures", lambda: report_late_failures(resources), idle_seconds=1.0),
        Loop("reports", lambda: process_reports(resources), idle_seconds=REPORTS_SECONDS),
        Loop(
            "unknown sends",
            lambda: query_unknown_outcomes(resources, adapters),
            idle_seconds=QUERY_SECONDS,
        ),
        Loop(
            "old reports", lambda: sweep_old_reports(resources), idle_seconds=HOUSEKEEPING_SECONDS
        ),
        Loop(
            "old incoming SMS", lambda: sweep_old_sms(resources), idle_seconds=HOUSEKEEPING_SECONDS
        ),
    ]


def _list_payment_loops(resources: Resources, providers: PaymentProviders) -> Sequence[Loop]:
    """Return the loops that check payments, send refunds and ask for payouts."""
    checks = open_payment_checks(resources, providers)
    refunds = open_refund_orders(resources, providers)
    return [
        Loop("payments", checks.run_once, idle_seconds=PAYMENT_SECONDS, finish=checks.close),
        Loop("refunds", refunds.run_once, idle_seconds=REFUND_SECONDS, finish=refunds.close),
        Loop("payouts", lambda: fetch_payouts(resources, providers), idle_seconds=PAYOUT_SECONDS),
    ]


def _list_debit_loops(
    resources: Resources, banks: BankConnectionAdapters, providers: PaymentProviders
) -> Sequence[Loop]:
    """Return the loops that plan direct debits, deliver their files to banks, and call the
    providers that collect them."""
    mandates = open_mandate_checks(resources, providers)
    debits = open_debit_orders(resources, providers)
    return [
        Loop("debits", lambda: plan_collections(resources), idle_seconds=PLAN_SECONDS),
        Loop(
            "debit files",
            lambda: deliver_debit_files(resources, banks.find),
            idle_seconds=DELIVER_SECONDS,
        ),
        Loop(
            "provider mandates",
            mandates.run_once,
            idle_seconds=MANDATE_SECONDS,
            finish=mandates.close,
        ),
        Loop(
            "provider debits",
            debits.run_once,
            idle_seconds=COLLECT_SECONDS,
            finish=debits.close,
        ),
    ]


def _list_letter_loops(
    resources: Resources, delivery_providers: DeliveryProviderAdapters
) -> Sequence[Loop]:
    """Return the loops that release batches of letters to print services, read the status files of
    these services, and delete old manifests and status files."""
    releaser = BatchReleaser(resources, delivery_providers.list_print_providers)
    reader = StatusFileReader(resources, delivery_providers.list_print_providers)
    return [
        Loop("letter batches", releaser.run_once, idle_seconds=BATCH_SECONDS),
        Loop("letter statuses", reader.run_once, idle_seconds=STATUS_SECONDS),
        Loop("old manifests", releaser.sweep, idle_seconds=HOUSEKEEPING_SECONDS),
        Loop("old status files", reader.sweep, idle_seconds=HOUSEKEEPING_SECONDS),
    ]


def _list_alert_loops(
    resources: Resources, delivery_providers: DeliveryProviderAdapters
) -> Sequence[Loop]:
    """Return the loops that alert operators, and the loop that measures the backlog. All of them
    use the database's time. The first two also run while this host's clock is wrong, because they
    report that."""
    url = get_database_url(resources.settings)
    resources = replace(resources, clock=DatabaseTime(resources.clock))
    return [
        Loop(
            "alerts",
            lambda: check_for_alerts(resources, delivery_providers.find, url),
            idle_seconds=CHECK_SECONDS,
            runs_by_database_time=True,
        ),
        Loop(
            "alert e-mails",
            lambda: send_alert_emails(resources, delivery_providers.find),
            idle_seconds=EMAIL_IDLE_SECONDS,
            runs_by_database_time=True,
        ),
        Loop("failing webhooks", EndpointAlerts(resources).run_once, idle_seconds=WATCH_SECONDS),
        Loop("backlog", BacklogMetrics(resources).run_once, idle_seconds=BACKLOG_SECONDS),
    ]


def _list_notification_loops(resources: Resources, writer: NoticeWriter) -> Sequence[Loop]:
    """Return the loops that notify debtors and send them the links that they requested."""
    return [
        Loop(
            "overdue disputes",
            lambda: notify_overdue_disputes(resources, writer),
            idle_seconds=OVERDUE_SECONDS,
        ),
        Loop(
            "due notices",
            lambda: send_due_occasions(resources, writer),
            idle_seconds=OCCASION_POLL_SECONDS,
        ),
        Loop(
            "requested links",
            lambda: send_requested_links(resources, writer),
            idle_seconds=POLL_SECONDS,
        ),
    ]


def _list_job_loops(resources: Resources, storage: SealedFiles) -> Sequence[Loop]:
    """Return the loops for jobs over many claims, and the loop that indexes claims for the search.
    Exports run separately, so that a long list delays no other job."""
    return [
        Loop("jobs", lambda: run_jobs(resources), idle_seconds=JOB_SECONDS),
        Loop("exports", lambda: run_exports(resources, storage), idle_seconds=JOB_SECONDS),
        Loop("previews", lambda: run_previews(resources), idle_seconds=JOB_SECONDS),
        Loop("search", lambda: index_claims(resources), idle_seconds=INDEX_INTERVAL_SECONDS),
        Loop("old jobs", lambda: sweep_jobs(resources, storage), idle_seconds=SWEEP_JOBS_SECONDS),
    ]


def _list_statement_loops(
    resources: Resources, installation: CurrentInstallation
) -> Sequence[Loop]:
    """Return the loops that fetch bank statements, import them, and match their entries."""
    fetcher = StatementFetcher(resources, installation)
    return [
        Loop("bank connections", fetcher.run_once, idle_seconds=FETCH_SECONDS),
        Loop("bank statements", lambda: import_next_file(resources), idle_seconds=IMPORT_SECONDS),
        Loop("bank entries", lambda: match_all(resources), idle_seconds=MATCH_SECONDS),
    ]


def _list_ledger_loops(resources: Resources) -> Sequence[Loop]:
    """Return the loops that seal the ledgers of merchants and of the installation."""
    return [
        Loop("ledger", lambda: seal_ledger(resources), idle_seconds=SEAL_SECONDS),
        Loop(
            "installation ledger",
            lambda: seal_installation(resources),
            idle_seconds=SEAL_SECONDS,
        ),
    ]


def _list_sweeping_loops(resources: Resources, storage: SealedFiles) -> Sequence[Loop]:
    """Return the loops that delete expired data."""
    housekeeping = Housekeeping(resources, storage)
    return [
        Loop(
            "notice contents", lambda: sweep_notices(resources), idle_seconds=HOUSEKEEPING_SECONDS
        ),
        Loop(
            "landing",
            lambda: delete_expired_debtor_data(resources),
            idle_seconds=HOUSEKEEPING_SECONDS,
        ),
        Loop("housekeeping", housekeeping.run_once, idle_seconds=HOUSEKEEPING_SECONDS),
    ]


def _build_webhook_loop(resources: Resources, sender: WebhookSender, stop: asyncio.Event) -> Loop:
    """Return the loop of webhook deliveries. Deliveries have their own queues, so one round lasts
    until the worker stops or the round fails."""
    name = "webhooks"

    async def deliver() -> int:
        # Use a new dispatcher in each round. The deliveries that a failed one had leased are leased
        # again when their leases expire.
        await WebhookDispatcher(resources, sender).run(stop, lambda: record_success(name))
        return 0

    return Loop(name, deliver)
